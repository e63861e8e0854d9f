"""What a contract admits for one call, and whether given outputs are among it: the bound, the oracle, the comparison.

Requirement: the comparison of a right answer is one vectorised test an output; numbers for a story are gathered only
once something is wrong.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any, NoReturn

import numpy as np

from kernel_contracts.answers.arguments import Call
from kernel_contracts.answers.arrays import Given
from kernel_contracts.classes.judging import MOSTLY_FREE
from kernel_contracts.contracts.evidence import Case, Layout, Observation, Outcome, OutputReading
from kernel_contracts.measurement.compare import read
from kernel_contracts.measurement.hypotheses import explain
from kernel_contracts.measurement.oracle import Truth
from kernel_contracts.measurement.session import Judged, Session
from kernel_contracts.numerics.acceptance import Acceptance
from kernel_contracts.numerics.bounded import Array, Bounded
from kernel_contracts.numerics.mutants import mutants
from kernel_contracts.oracles import ladder

#: The input family that stands for arrays handed in.
HANDED_IN = "given"


class _Nobody:
    """Stands where no kernel is called."""

    def call(self, *args: Any, **kwargs: Any) -> NoReturn:
        raise AssertionError("the outputs are given, no kernel is called")


class Ruling:
    """The bound and the oracle of one call, computed when first asked for."""

    def __init__(self, call: Call) -> None:
        self.call = call

    @cached_property
    def _session(self) -> Session:
        return Session(self.call.contract, self.call.bound, _Nobody(), ladder())

    @cached_property
    def _derived(self) -> tuple[dict[str, Bounded], Truth]:
        return self._session.truth(self.call.instance)

    @property
    def truth(self) -> Truth:
        return self._derived[1]

    @property
    def decided(self) -> bool:
        """Whether the oracle's own error is small enough beside the tolerance to accuse or to clear."""
        return self.truth.good and bool(self.truth.centers)

    def judged(self, outputs: Mapping[str, Array]) -> Iterator[Judged]:
        """For each claim what is admitted, beside what was given."""
        bounded, truth = self._derived
        if truth.centers:
            yield from self._session.admitted(self.call.instance, bounded, truth, outputs)

    def admissions(self) -> dict[str, list[Acceptance]]:
        """For each output what its claims admit; claims about expressions over outputs are left out."""
        about = tuple(c for c in self.call.bound.claims if c.output)
        plain = Ruling(replace(self.call, bound=replace(self.call.bound, claims=about)))
        nothing = {name: np.zeros(shape) for name, shape, _ in self.call.expected()}
        found: dict[str, list[Acceptance]] = {name: [] for name in nothing}
        for claim, judged in zip(about, plain.judged(nothing), strict=False):
            found[claim.output].append(judged.acceptance)
        return found

    def worst_ratio(self, outputs: Mapping[str, Array]) -> tuple[float, float]:
        """max |y - y*| / tolerance over all claims, and the share of elements for which every answer is admitted."""
        worst, free, size = 0.0, 0, 0
        for judged in self.judged(outputs):
            a = judged.acceptance
            worst = max(worst, float(a.ratios(judged.candidate).max(initial=0.0)))
            free += int(np.count_nonzero(a.free)) if a.admissible is None else 0
            size += a.free.size
        return worst, free / size if size else 0.0

    def case(self) -> Case:
        call = self.call
        return Case(0, HANDED_IN, dict(call.bound.dtypes), dict(call.dims), dict(call.scalars), Layout.CONTIGUOUS, 0)

    def observe(self, outputs: Mapping[str, Array]) -> Observation:
        """Everything a story needs; which known faults explain the numbers is found out by `diagnosed`."""
        readings: list[OutputReading] = [
            read(j.text, j.candidate, j.acceptance, self.truth.share) for j in self.judged(outputs)
        ]
        centers = {j.text: j.acceptance.center for j in self.judged(outputs)}
        constant = _constant(outputs, centers) if all(n in centers for n in outputs) else {}
        return Observation(
            self.case(), Outcome.RETURNED, outputs=tuple(readings), readings=constant, oracle=self.truth.oracle,
            oracle_ok=self.decided,
        )  # fmt: skip

    def diagnosed(self, outputs: Mapping[str, Array]) -> dict[str, float]:
        """For each known fault the share of the error that it leaves unexplained."""
        admitted = {j.text: j.acceptance for j in self.judged(outputs)}
        if not all(n in admitted for n in outputs):
            return {}
        centers = {n: a.center for n, a in admitted.items()}
        radii = {n: a.tolerance for n, a in admitted.items()}
        plain = replace(self.call.instance, program=self.call.bound.program)
        return explain(self.call.bound, plain, outputs, centers, mutants(), radii)


def _constant(outputs: Mapping[str, Array], centers: Mapping[str, Array]) -> dict[str, float]:
    """Whether everything that was given is one number, and whether it should be."""
    flat = np.concatenate([np.ravel(np.asarray(y, dtype=np.float64)) for y in outputs.values()])
    due = np.concatenate([np.ravel(np.asarray(centers[n], dtype=np.float64)) for n in outputs])
    if flat.size < 2:
        return {}
    same = {"output_constant": flat, "oracle_constant": due}
    return {name: float(bool((a == a[0]).all())) for name, a in same.items()}


def mostly_free(share: float) -> bool:
    """Whether so many elements admit every answer that passing says nothing."""
    return share > MOSTLY_FREE


def typed(call: Call, given: Sequence[Given]) -> tuple[dict[str, Array], str, str]:
    """The outputs as values; or the defect and what is wrong with their number, dtype or shape."""
    expected = call.expected()
    if len(given) != len(expected):
        names = ", ".join(name for name, _, _ in expected)
        return {}, "wrong_count", f"{len(given)} array(s) were given, the scope says {len(expected)}: {names}"
    outputs: dict[str, Array] = {}
    for g, (name, shape, fmt) in zip(given, expected, strict=True):
        held = "fp32" if fmt.name == "tf32" else fmt.name
        if g.format and g.format != held:
            return {}, "wrong_dtype", f"{name} is {g.format}, the scope says {held}"
        if g.shape != shape:
            return {}, "wrong_shape", f"{name} has shape {list(g.shape)}, the scope says {list(shape)}"
        outputs[name] = g.values if g.format or not fmt.is_real else g.values.astype(np.float64)
    return outputs, "", ""

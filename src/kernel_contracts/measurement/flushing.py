"""What each treatment of subnormal numbers makes due: inputs kept or read as zero, results kept or written as zero.

A pair of choices admits an answer where the derived bound of the reference, on inputs so treated, does. A result that
is flushed is a zero, of either sign, or a number that is normal after rounding: whether a kernel asks before rounding
or after it is left to it. Between the operations of a longer program a kernel that flushes may flush again or not.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from kernel_contracts.contracts.model import Bound, Claim, Contract
from kernel_contracts.measurement.oracle import Truth
from kernel_contracts.measurement.session import Session
from kernel_contracts.measurement.subnormal_plan import stages, zeroed
from kernel_contracts.numerics.acceptance import Acceptance
from kernel_contracts.numerics.bounded import Array
from kernel_contracts.numerics.interpret import Instance
from kernel_contracts.numerics.program import Program
from kernel_contracts.numerics.rounding import round_to

Pair = tuple[str, str]
#: What is done with inputs and with results, the gentlest first.
PAIRS: tuple[Pair, ...] = (
    ("preserve", "preserve"), ("preserve", "flush"), ("flush", "preserve"), ("flush", "flush"),
)  # fmt: skip
INPUT, RESULT, BETWEEN = "subnormal_input", "subnormal_result", "subnormal_intermediate"


def declared(contract: Contract) -> tuple[Pair, ...]:
    """The pairs that the contract admits; every one where it says nothing."""
    either = ("preserve", "flush")
    first, second = contract.policies.get(INPUT, either), contract.policies.get(RESULT, either)
    return tuple(p for p in PAIRS if p[0] in first and p[1] in second)


@dataclass(frozen=True, slots=True)
class Views:
    """One output under every hypothesis, elementwise."""

    fits: Mapping[Pair, Array]
    """Whether the answer is admitted, flushing between operations included."""
    plainly: Mapping[Pair, Array]
    """The same with nothing flushed between operations."""
    input_matters: Array
    """Reading inputs as zero changes what is due."""
    result_matters: Array
    """What is due is subnormal, and zero is not admitted for it."""
    center: Array
    tolerance: Array
    free: Array


class Hypotheses:
    """The four pairs on one case. Requirement: the sessions in here never call the kernel."""

    def __init__(self, session: Session, case_dims: Mapping[str, int], inputs: Mapping[str, Array], scalars: Any):
        self.contract, self.bound = session.contract, with_claims(session.bound)
        self.dims, self.scalars, self.ladder = case_dims, scalars, session.ladder
        self.inputs = {"preserve": dict(inputs), "flush": zeroed(session.bound, inputs)}
        self.truth: Truth | None = None
        self.good = True

    def views(self, outputs: Mapping[str, Array]) -> dict[str, Views]:
        """Each real output under every hypothesis."""
        several = stages(self.bound) > 1
        between = self.contract.policies.get(BETWEEN)
        strict = {i: self._admitted(i, outputs, loose=False) for i in self.inputs}
        loose = strict
        if several and between != ("preserve",):
            loose = {i: self._admitted(i, outputs, loose=True) for i in self.inputs}
        gentle = loose if between is not None and "flush" in between else strict
        found: dict[str, Views] = {}
        for name, y in outputs.items():
            usual, other = strict["preserve"].get(name), strict["flush"].get(name)
            if usual is None or other is None:
                continue
            fmt = self.bound.outputs[name]
            fits, plainly = {}, {}
            for pair in PAIRS:
                base = (gentle if pair == PAIRS[0] else loose)[pair[0]][name]
                fits[pair] = self._fits(base, y, pair[1])
                plainly[pair] = self._fits(strict[pair[0]][name], y, pair[1])
            due = round_to(other.center, fmt) if fmt.is_real else other.center
            small = np.abs(usual.center) < fmt.least_normal if fmt.is_real else np.zeros(y.shape, bool)
            found[name] = Views(
                fits, plainly, usual.ratios(np.asarray(due)) > 1, small & (usual.ratios(np.zeros(y.shape)) > 1),
                usual.center, usual.tolerance, usual.free,
            )  # fmt: skip
        return found

    def _admitted(self, treated: str, outputs: Mapping[str, Array], *, loose: bool) -> dict[str, Acceptance]:
        bound = replace(self.bound, context=replace(self.bound.context, flush=loose))
        session = Session(self.contract, bound, _Nobody(), self.ladder)
        instance = Instance(bound.judged, self.dims, self.inputs[treated], self.scalars)
        bounded, truth = session.truth(instance)
        if not loose:
            self.good &= truth.good and bool(truth.centers)
            self.truth = self.truth or truth
        if not truth.centers:
            return {}
        found: dict[str, Acceptance] = {}
        for claim, judged in zip(bound.claims, session.admitted(instance, bounded, truth, outputs), strict=True):
            if claim.output and claim.output not in found:
                found[claim.output] = judged.acceptance
        return found

    def _fits(self, admitted: Acceptance, y: Array, result: str) -> Array:
        right = np.asarray(admitted.ratios(y) <= 1)
        if result == "preserve" or not admitted.format.is_real:
            return right
        least = admitted.format.least_normal
        with np.errstate(invalid="ignore"):
            tiny = np.abs(admitted.center) - admitted.tolerance < least
            return np.asarray((right & (np.abs(y) >= least)) | ((y == 0) & (tiny | right)) | admitted.free)


class _Nobody:
    """Stands where no kernel is called."""

    def call(self, *args: Any, **kwargs: Any) -> Any:
        raise AssertionError("a hypothesis calls no kernel")


def with_claims(bound: Bound) -> Bound:
    """The same with one claim an output where the contract compares nothing: the reference, rounded once at its end."""
    if any(c.output for c in bound.claims):
        return bound
    kept: dict[str, int] = {}
    claims = []
    for k, (name, place) in enumerate(bound.program.outputs.items()):
        node = bound.program.nodes[place]
        rounded = node.op == "round"
        kept[str(k)] = before = node.args[0] if rounded else place
        claims.append(Claim(name, name, bound.outputs[name], before, rounded, False, None, None, None))
    p = bound.program
    judged = Program(p.nodes, p.inputs, p.scalars, {**p.outputs, **kept}, p.dims)
    return replace(bound, judged=judged, claims=tuple(claims))

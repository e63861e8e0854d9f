"""One case at several scales: what must not depend on a scale is compared bit for bit, everything with its bound.

The case as drawn comes first and is held against the oracle, and so is every answer at another scale. Where the
reference stays away from the ends of every range at both scales, the answers must have the same bits, up to the power
of two that a result carries. A kernel whose answer to the same call changes by itself is not compared bit for bit.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from kernel_contracts.contracts.evidence import Case, Observation, Outcome
from kernel_contracts.contracts.precondition import holds
from kernel_contracts.contracts.scaling import Scaling, scalings_of
from kernel_contracts.measurement.away import compare, ends_met
from kernel_contracts.measurement.experiments.base import Measured
from kernel_contracts.measurement.session import Session
from kernel_contracts.numerics.bounded import Array
from kernel_contracts.numerics.interpret import Instance
from kernel_contracts.numerics.rounding import round_to

Arrays = Mapping[str, Array]

#: So often both calls are repeated before a difference between them counts.
_CONFIRMED = 3


@dataclass(frozen=True, slots=True)
class Call:
    """One case at one scale."""

    case: Case
    inputs: Arrays
    exponent: int
    scalings: tuple[Scaling, ...]
    """The promises that this call is made for."""


class Scales(Measured):
    """The experiment of the class on scaling."""

    name = "scales"

    def measure_on(self, session: Session, case: Case, inputs: Arrays) -> Observation:
        base, outputs, _ = session.called(case, inputs)
        seen = _told(session, session.compared(base, inputs, outputs), inputs, outputs)
        calls = list(calls_of(session, case, inputs))
        if seen.outcome is not Outcome.RETURNED or seen.violating or not calls:
            return seen
        again = session.called(case, inputs)[1]
        tally = Tally(session, case, inputs, outputs, steady=_same(outputs, again))
        for call in calls:
            other, made, _ = session.called(call.case, call.inputs)
            found = _told(session, session.compared(other, call.inputs, made), call.inputs, made)
            if found.outcome is not Outcome.RETURNED or found.violating or found.mutated:
                given = {f"{n} in the call": float(v) for n, v in call.case.scalars.items()}
                readings = {**seen.readings, **found.readings, **given, "exponent": float(call.exponent)}
                return replace(found, case=case, hashes=seen.hashes, readings=readings)
            tally.add(call, made)
        return tally.observed(seen)


def calls_of(session: Session, case: Case, inputs: Arrays) -> Iterator[Call]:
    """The same case with its carriers multiplied; what the precondition excludes is left out."""
    groups: dict[tuple[Any, ...], list[Scaling]] = {}
    results = {t.name for t in session.contract.outputs}
    for s in scalings_of(session.contract):
        given = tuple((n, p) for n, p in s.given if n not in results)
        groups.setdefault((s.low, s.high, given), []).append(s)
    for (low, high, given), scalings in groups.items():
        for exponent in exponents(low, high, case.seed):
            made = _multiplied(session, case, inputs, dict(given), exponent)
            if made is not None:
                yield Call(*made, exponent, tuple(scalings))


def exponents(low: int, high: int, seed: int) -> list[int]:
    """Both ends, and one in between that changes with the case."""
    between = int(np.random.default_rng([seed, 4]).integers(low, high, endpoint=True))
    return [e for e in dict.fromkeys((low, between, high)) if e != 0]


def _multiplied(
    session: Session, case: Case, inputs: Arrays, given: Mapping[str, int], exponent: int
) -> tuple[Case, Arrays] | None:
    scalars = dict(case.scalars)
    for s in session.contract.scalars:
        if s.name in given and s.name in scalars:
            scalars[s.name] = float(np.ldexp(scalars[s.name], exponent * given[s.name]))
    if not holds(session.contract.pre, dict(case.dims), scalars):
        return None
    out = dict(inputs)
    for spec in session.request(case).reals:
        if spec.name not in given:
            continue
        x = np.ldexp(inputs[spec.name], exponent * given[spec.name])
        facts = session.contract.pre.facts.get(spec.name)
        kept = round_to(x, spec.format)
        was = np.isfinite(inputs[spec.name])
        top = spec.top if facts is not None and facts.finite else np.inf
        if (np.abs(x[was]) > top).any() or (np.isnan(kept) & was).any() or (spec.positive and (kept <= 0).any()):
            return None
        out[spec.name] = kept
    return replace(case, scalars=scalars), out


class Tally:
    """Counts what the calls at other scales show."""

    def __init__(self, session: Session, case: Case, inputs: Arrays, outputs: Arrays, *, steady: bool) -> None:
        self.session, self.steady, self.outputs = session, steady, outputs
        self.first = (case, inputs)
        self.base = Instance(session.bound.program, case.dims, inputs, case.scalars)
        self.readings = {"scaled_calls": 0.0, "away": 0.0, "scaled_elements": 0.0, "scale_differs": 0.0}
        self.readings |= {k: float(v) for k, v in ends_met(self.base).items()}
        self.detail = ""

    def add(self, call: Call, made: Arrays) -> None:
        """One more answer."""
        scaled = Instance(self.session.bound.program, call.case.dims, call.inputs, call.case.scalars)
        for name, count in ends_met(scaled).items():
            self.readings[name] = max(self.readings[name], float(count))
        self.readings["scaled_calls"] += 1
        found = compare(self.base, scaled, self.session.bound.context)
        for s in call.scalings:
            due = call.exponent * s.carriers.get(s.output, 0)
            y, z = self.outputs[s.output], made[s.output]
            away = found.away[s.output] if s.away else np.ones(y.shape, bool)
            if found.shift[s.output] not in (due, None):
                away = np.zeros(y.shape, bool)  # the reference does not keep the promise itself
            self.readings["away"] += float(np.count_nonzero(away)) if self.steady else 0.0
            self.readings["scaled_elements"] += float(y.size)
            differs = away & ~_alike(np.ldexp(y, due) if y.dtype.kind == "f" else y, z)
            if self.steady and differs.any() and self._again(call, made):
                self._differs(s, call.exponent, due, y, z, differs)

    def _again(self, call: Call, made: Arrays) -> bool:
        """Whether both answers come back unchanged: what changes only now and then is not the scale's doing."""
        case, inputs = self.first
        for _ in range(_CONFIRMED):
            same = _same(self.outputs, self.session.called(case, inputs)[1])
            self.steady = self.steady and same and _same(made, self.session.called(call.case, call.inputs)[1])
        if not self.steady:
            self.readings["away"] = 0.0
        return self.steady

    def _differs(self, s: Scaling, exponent: int, due: int, y: Array, z: Array, differs: Array) -> None:
        self.readings["scale_differs"] += float(np.count_nonzero(differs))
        if not self.detail:
            index = np.unravel_index(int(np.argmax(differs)), differs.shape) if differs.shape else ()
            place = f"{s.output}[{', '.join(str(int(i)) for i in index)}]" if index else s.output
            expected = f"{y[index] * 2.0**due:.9g}"
            self.detail = (
                f"{place} is {z[index]:.9g} at 2^{exponent} times the scale where the same bits give {expected}, "
                f"{int(np.count_nonzero(differs))} of {differs.size} elements differ"
            )

    def observed(self, seen: Observation) -> Observation:
        facts = {"scales": "unsteady" if not self.steady else "differ" if self.detail else "same"}
        seen = replace(seen, readings={**seen.readings, **self.readings}, facts={**seen.facts, **facts})
        return replace(seen, defect="scale_dependent", detail=self.detail) if self.detail else seen


def _told(session: Session, seen: Observation, inputs: Arrays, outputs: Arrays) -> Observation:
    """A failing observation with the one factor between its answers and the reference's, where there is one."""
    if not seen.violating or not outputs:
        return seen
    from kernel_contracts.numerics.domains import FLOAT64
    from kernel_contracts.numerics.interpret import evaluate

    case = seen.case
    with np.errstate(all="ignore"):
        due = evaluate(Instance(session.bound.program, case.dims, inputs, case.scalars), FLOAT64)
        for name, y in outputs.items():
            center = np.asarray(due[name])
            if y.dtype.kind != "f" or y.shape != center.shape:
                continue
            factors = (y / center)[np.isfinite(y) & np.isfinite(center) & (center != 0) & (y != 0)]
            middle = float(np.median(factors)) if factors.size else 1.0
            if factors.size and abs(middle - 1) > 0.05 and float(np.abs(factors / middle - 1).max()) < 0.05:
                return replace(seen, readings={**seen.readings, "factor": middle})
    return seen


def _alike(a: Array, b: Array) -> Array:
    """The same bits but for the payload of a NaN."""
    if a.dtype.kind != "f":
        return np.asarray(a == b)
    return np.asarray(((a == b) & (np.signbit(a) == np.signbit(b))) | (np.isnan(a) & np.isnan(b)))


def _same(first: Arrays, second: Arrays) -> bool:
    return set(first) == set(second) and all(bool(_alike(y, second[n]).all()) for n, y in first.items())


EXPERIMENT = Scales()

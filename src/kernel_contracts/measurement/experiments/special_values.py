"""NaN, both infinities and the negative zero put into one place after another, beside what IEEE 754 makes of them.

What is due comes from the reference program evaluated on the same inputs; a policy changes what is due, never how it
is compared. Elements that do not depend on the special value must be those of the clean run, under the same tolerance
clause (bit for bit where the contract says `bitwise equal`).
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from kernel_contracts.contracts.evidence import Case, Element, Observation, Outcome, OutputReading
from kernel_contracts.measurement.experiments.base import Asked, Measured, decided, thinned
from kernel_contracts.measurement.injection import base, inject, parse
from kernel_contracts.measurement.session import Session
from kernel_contracts.measurement.special_plan import special_cases
from kernel_contracts.numerics.bounded import Array
from kernel_contracts.numerics.domains import FLOAT64
from kernel_contracts.numerics.interpret import Instance, evaluate
from kernel_contracts.numerics.number_wins import NUMBER_WINS
from kernel_contracts.numerics.rounding import round_to

#: Finite numbers put in the special value's place: an output that none of them moves does not depend on it.
_PROBES = (0.0, 1.0, -24.0, 24.0)
#: Choices that make a result due, the program's own first.
NAN, INF = ("propagate", "number_wins"), ("propagate", "saturate")
Arrays = Mapping[str, Array]


class SpecialValues(Measured):
    """The experiment of C-EXC-01."""

    name = "special_values"

    def planned(self, asked: Asked) -> list[Case]:
        made = special_cases(
            asked.contract,
            asked.bound,
            seed=asked.seed,
            signed_zero="signed_zero" in asked.contract.policies,
            fixed=asked.fixed,
        )
        return thinned(made, asked.samples, _values_of)

    def inputs(self, session: Session, case: Case) -> dict[str, Array]:
        return inject(base(session.request(case)), parse(case.family))

    def measure_on(self, session: Session, case: Case, inputs: Mapping[str, Array]) -> Observation:
        seen, outputs, _ = session.called(case, inputs)
        kinds = _policies_at_stake(case)
        if seen.outcome is Outcome.RAISED and kinds:
            declared = [session.contract.policies.get(k, ("raise",)) for k in kinds]
            allowed = {"may_refuse": 1.0} if any("raise" in d for d in declared) else {}
            return replace(seen, readings={**seen.readings, **allowed}, facts=dict.fromkeys(kinds, "raise"))
        if seen.outcome is not Outcome.RETURNED or seen.defect:
            return seen
        with np.errstate(all="ignore"):
            return _Beside(session, case, inputs, outputs).observed(seen, kinds)

    def finish(self, session: Session, observations: Sequence[Observation]) -> list[Observation]:
        return decided(observations)


def _values_of(case: Case) -> tuple[tuple[str, str, bool], ...]:
    """Which values stand in which inputs, wherever: each is tried, however few samples are asked for."""
    return tuple((i.value, i.name, i.position is None) for i in parse(case.family))


def _policies_at_stake(case: Case) -> list[str]:
    """The policies that a case is about; none for a clean one."""
    values = {i.value for i in parse(case.family)}
    return [*(["nan"] if "nan" in values else []), *(["inf"] if values & {"inf", "-inf"} else [])]


class _Beside:
    """What came back beside what is due under each policy."""

    def __init__(self, session: Session, case: Case, inputs: Arrays, outputs: Arrays) -> None:
        self.session, self.case, self.outputs = session, case, outputs
        self.instance = Instance(session.bound.program, case.dims, inputs, case.scalars)
        self.propagated = self._due({})
        self.wrong_finite = self._finite(inputs)

    def _due(self, instead: Mapping[str, Any], instance: Instance | None = None) -> dict[str, Array]:
        made = evaluate(instance or self.instance, FLOAT64, None, instead)
        formats = self.session.bound.outputs
        return {n: round_to(made[n], formats[n]) if formats[n].is_real else np.asarray(made[n]) for n in self.outputs}

    def _finite(self, inputs: Arrays) -> dict[str, Array]:
        """Elements that the claims of the contract call wrong, where a number is due."""
        special = self._ratios(inputs)
        injections = parse(self.case.family)
        if not injections:
            return special
        clean = base(self.session.request(self.case))
        if any(clean[n].shape != x.shape for n, x in inputs.items()):
            return special
        calm, still, left_out = self._ratios(clean), self._independent(clean), self._left_out()
        return {n: np.where(still[n], calm[n], special[n]) & ~left_out[n] for n in special}

    def _left_out(self) -> dict[str, Array]:
        """Elements that no claim speaks of: outside of every `where`."""
        out = {n: np.ones(y.shape, bool) for n, y in self.outputs.items()}
        claims = [c for c in self.session.bound.claims if c.output]
        wanted = {str(k): c.where for k, c in enumerate(claims) if c.where is not None}
        found = evaluate(replace(self.instance, program=self.session.bound.judged), FLOAT64, wanted) if wanted else {}
        for k, claim in enumerate(claims):
            out[claim.output] = out[claim.output] & ~np.asarray(found.get(str(k), True), dtype=bool)
        return out

    def _ratios(self, inputs: Arrays) -> dict[str, Array]:
        bound, out = self.session.bound, {n: np.zeros(y.shape, bool) for n, y in self.outputs.items()}
        instance = Instance(bound.judged, self.case.dims, inputs, self.case.scalars)
        bounded, truth = self.session.truth(instance)
        if truth.centers:
            for claim, judged in zip(
                bound.claims, self.session.admitted(instance, bounded, truth, self.outputs), strict=True
            ):
                if claim.output:
                    out[claim.output] = out[claim.output] | (judged.acceptance.ratios(judged.candidate) > 1)
        return out

    def _independent(self, clean: Arrays) -> dict[str, Array]:
        """Elements of the reference that nothing in the special value's place changes."""
        calm = self._due({}, replace(self.instance, inputs=clean))
        still = {n: _same(calm[n], self.propagated[n]) for n in calm}
        for probe in _PROBES:
            moved = {n: np.array(x) for n, x in clean.items()}
            for one in parse(self.case.family):
                if one.position is None:
                    moved[one.name][...] = probe
                else:
                    moved[one.name].reshape(-1)[one.position % moved[one.name].size] = probe
            other = self._due({}, replace(self.instance, inputs=moved))
            still = {n: still[n] & _same(calm[n], other[n]) for n in calm}
        return still

    def observed(self, seen: Observation, kinds: list[str]) -> Observation:
        """The observation under the admitted choice of policies that fits best."""
        policies = self.session.contract.policies
        choices = list(itertools.product(NAN if "nan" in kinds else NAN[:1], INF if "inf" in kinds else INF[:1]))
        found = {c: self._against(self._under(*c)) for c in choices}
        right = [c for c in choices if not found[c][1]["wrong"]]
        facts = {}
        for place, kind in enumerate(("nan", "inf")):
            if kind in kinds:
                words = list(dict.fromkeys(c[place] for c in right)) or [self._words()]
                facts[kind] = "|".join(words)
        admitted = [
            c for c in choices
            if all(_admits(policies.get(k, ()), c[place]) for place, k in enumerate(("nan", "inf")) if k in kinds)
        ]  # fmt: skip
        readings, counts = min((found[c] for c in admitted or choices[:1]), key=lambda f: f[1]["wrong"])
        if not admitted:  # only raising is declared
            readings = tuple(replace(r, ratio=np.inf, exceeding=max(r.size, 1)) for r in readings)
            counts = {**counts, "must_raise": 1.0}
        return replace(seen, outputs=readings, oracle="ieee754", facts=facts, readings={**seen.readings, **counts})

    def _under(self, nan: str, inf: str) -> dict[str, Array]:
        made = self._due(NUMBER_WINS) if nan == "number_wins" else self.propagated
        return {n: self._saturated(n, y) for n, y in made.items()} if inf == "saturate" else made

    def _saturated(self, name: str, y: Array) -> Array:
        fmt = self.session.bound.outputs[name]
        return np.where(np.isinf(y), np.copysign(fmt.max_finite, y), y) if fmt.is_real else y

    def _words(self) -> str:
        """What stands where NaN or an infinity is due, in a word."""
        special = [self.outputs[n][~np.isfinite(d)] for n, d in self.propagated.items() if d.dtype.kind == "f"]
        got = np.concatenate([s.ravel() for s in special]) if special else np.zeros(0)
        if got.size and bool((got == 0).all()):
            return "zero"
        return "replaced" if got.size and bool(np.isfinite(got).all()) else "mixed"

    def _against(self, due: Arrays) -> tuple[tuple[OutputReading, ...], dict[str, float]]:
        counts: dict[str, float] = {"nan_due": 0.0, "wrong": 0.0}
        readings = []
        for name, y in self.outputs.items():
            wrong = self._wrong(name, np.asarray(due[name]), y, counts)
            counts["wrong"] += float(np.count_nonzero(wrong))
            readings.append(_reading(name, np.asarray(due[name]), y, wrong))
        return tuple(readings), counts

    def _wrong(self, name: str, due: Array, y: Array, counts: dict[str, float]) -> Array:
        """Wrong elements of one output; `counts` gets how many of each kind."""

        def add(kind: str, mask: Array) -> Array:
            counts[kind] = counts.get(kind, 0.0) + float(np.count_nonzero(mask))
            return mask

        if due.dtype.kind != "f":
            return add("index_wrong", due != y)
        nan, inf = np.isnan(due), np.isinf(due)
        counts["nan_due"] += float(np.count_nonzero(nan))
        finite = ~nan & ~inf
        wrong = add("nan_lost", nan & np.isfinite(y)) | add("inf_for_nan", nan & np.isinf(y))
        wrong |= add("nan_spread", ~nan & np.isnan(y)) | add("inf_spread", finite & np.isinf(y))
        wrong |= add("inf_sign_wrong", inf & np.isinf(y) & (due != y)) | add("inf_lost", inf & np.isfinite(y))
        wrong |= add("finite_changed", finite & np.isfinite(y) & self._changed(name, due, y))
        if "preserve" in self.session.contract.policies.get("signed_zero", ()):
            lost = finite & (due == 0) & (y == 0) & (np.signbit(due) != np.signbit(y))
            wrong |= add("zero_sign_lost", lost)
        return wrong

    def _changed(self, name: str, due: Array, y: Array) -> Array:
        """Wrong by the claims; where a policy makes another number due than the program, that number is due exactly."""
        usual = np.asarray(self.propagated[name])
        other = ~_same(usual, due)
        return np.where(other, due != y, self.wrong_finite[name])


def _admits(declared: tuple[str, ...], policy: str) -> bool:
    """Whether the choice is open or declared; a mask is part of the reference, so it is due as that stands."""
    return not declared or policy in declared or (policy == "propagate" and "mask" in declared)


def _same(a: Array, b: Array) -> Array:
    """Equal with equal NaN, the sign of zero included."""
    if a.dtype.kind != "f":
        return np.asarray(a == b)
    return np.asarray((np.isnan(a) & np.isnan(b)) | ((a == b) & (np.signbit(a) == np.signbit(b))))


def _reading(name: str, due: Array, y: Array, wrong: Array) -> OutputReading:
    count = int(np.count_nonzero(wrong))
    worst = None
    if count:
        flat = int(np.argmax(wrong))
        index = tuple(int(i) for i in np.unravel_index(flat, wrong.shape)) if wrong.shape else ()
        worst = Element(name, index, float(y[index]), float(due[index]), 0.0, np.inf)
    number = due.dtype.kind == "f"
    stray = int(np.count_nonzero(wrong & np.isfinite(due) & ~np.isfinite(y))) if number else 0
    zeros = int(np.count_nonzero(wrong & (y == 0)))
    return OutputReading(name, int(y.size), np.inf if count else 0.0, count, 0, int(y.size), count, stray, zeros, worst)


EXPERIMENT = SpecialValues()

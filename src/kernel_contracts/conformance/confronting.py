"""Two platforms' answers to the fixed set, held against each other and against the contract: evidence for the arbiter.

The inputs are made again from their seeds and must have the recorded digests. What the contract permits between two
answers is the width of the interval that it admits there: the tolerance on one side and on the other together.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from kernel_contracts.classes import classes
from kernel_contracts.conformance.arbiter import Gap
from kernel_contracts.conformance.fixed import FEATURES, inputs_of
from kernel_contracts.conformance.kinds import PATTERNS, ending, first_difference
from kernel_contracts.conformance.pricing import Price, measured, price_of
from kernel_contracts.conformance.recording import Answer, Recorded, array_digest
from kernel_contracts.contracts.model import Bound, Contract
from kernel_contracts.errors import ArithmeticScopeError
from kernel_contracts.measurement.calls import CallResult
from kernel_contracts.measurement.cases import item_of
from kernel_contracts.measurement.inputs.base import families
from kernel_contracts.measurement.session import Session
from kernel_contracts.numerics.bounded import Array
from kernel_contracts.numerics.interpret import Instance
from kernel_contracts.numerics.rounding import from_storage, to_storage
from kernel_contracts.oracles import ladder

BY_POLICY = frozenset({"special_values", "indices", "subnormals"})
"""Experiments that judge every case by policies; a tolerance says nothing about their inputs."""


class _Nobody:
    """Stands where no kernel is called."""

    def call(self, *args: Any, **kwargs: Any) -> CallResult:
        raise AssertionError("no kernel is called here")


@dataclass
class Confrontation:
    """One contract and choice of dtypes; `companions` are outputs that other contracts of the run claim."""

    contract: Contract
    bound: Bound
    companions: frozenset[str] = frozenset()
    _inputs: dict[int, dict[str, Array] | None] = field(default_factory=dict)
    _truths: dict[int, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.session = Session(self.contract, self.bound, _Nobody(), ladder())
        plan = classes()[self.contract.class_id].plan(self.contract, self.bound)
        self.by_policy = plan.experiment in BY_POLICY

    # ---------------------------------------------------------------------------------------------- the fixed set

    def obstacles(self, ours: Sequence[Recorded], theirs: Sequence[Recorded]) -> tuple[str, ...]:
        """Why the two readings are not of the same inputs; nothing where they are."""
        if [r.case for r in ours] != [r.case for r in theirs]:
            return ("the fixed inputs are other ones",)
        for a, b in zip(ours, theirs, strict=True):
            if any(r.answered and not r.skipped and len(r.outputs) != len(self.contract.outputs) for r in (a, b)):
                return (f"an answer to {a.where} does not have the outputs of the contract",)
            if dict(a.inputs) != dict(b.inputs):
                return (f"the inputs of {a.where} differ, though their seeds are the same",)
            made = self._made(a)
            if made is not None and self._digests(made) != dict(a.inputs):
                return (f"the inputs of {a.where} cannot be made again here: their digests differ",)
        return ()

    def gaps(self, ours: Sequence[Recorded], theirs: Sequence[Recorded]) -> tuple[Gap, ...]:
        """One for each input of the fixed set."""
        return tuple(self._gap(a, b) for a, b in zip(ours, theirs, strict=True))

    def _gap(self, a: Recorded, b: Recorded) -> Gap:
        if a.skipped or b.skipped:
            return Gap(a.where)
        if not a.answered or not b.answered:
            return self._endings(a, b)
        elements = sum(x.array.size for x in a.outputs)
        if any(_type(x) != _type(y) for x, y in zip(a.outputs, b.outputs, strict=True)):
            return Gap(a.where, elements, 1, clause="the type of the outputs")
        other = {
            t.name: _other_bits(x.array, y.array)
            for t, x, y in zip(self.contract.outputs, a.outputs, b.outputs, strict=True)
        }
        differing = sum(int(np.count_nonzero(d)) for d in other.values())
        gap = Gap(a.where, elements, differing)
        if not differing:
            return gap
        if self.by_policy:
            return replace(gap, covered=self._policies())
        return self._priced(gap, a, b, other)

    def _endings(self, a: Recorded, b: Recorded) -> Gap:
        """At least one call gave nothing to compare."""
        same = (a.outcome, a.defect, _kind(a)) == (b.outcome, b.defect, _kind(b))
        gap = Gap(a.where, 1, 0 if same else 1)
        if same or self.by_policy:
            return replace(gap, covered="" if same else self._policies())
        gap = replace(gap, kind_a=ending(a), kind_b=ending(b), covered="a documented refusal")
        broken = [not r.answered and not r.may_refuse for r in (a, b)]
        return replace(gap, outside_a=int(broken[0]), outside_b=int(broken[1]))

    def _policies(self) -> str:
        said = [f"policy {k} = {' or '.join(v)}" for k, v in self.contract.policies.items()]
        return " and ".join(said) or f"what {self.contract.class_id} admits"

    # ------------------------------------------------------------------------------------------------- tolerances

    def _priced(self, gap: Gap, a: Recorded, b: Recorded, other: Mapping[str, Array]) -> Gap:
        """The differences against what the contract permits."""
        x, y = self._values(a), self._values(b)
        known = self._truth(a)
        prices, wrong_a = self._judged(known, x)
        wrong_b = self._judged(known, y)[1]
        found = replace(gap, outside_a=_count(wrong_a), outside_b=_count(wrong_b))
        for name, mask in other.items():
            if name in prices:
                found = measured(found, prices[name], x[name], y[name])
            elif mask.any() and name in self.companions:
                found = replace(found, covered="another contract of the run")
            elif mask.any():
                kinds = first_difference(x[name], y[name], mask)
                clause = f"post {name} within tolerance of reference"
                found = replace(found, kind_a=kinds[0], kind_b=kinds[1], clause=clause)
        return replace(found, kind_a="", kind_b="") if found.outside_a or found.outside_b else found

    def _judged(self, known: Any, values: Mapping[str, Array]) -> tuple[dict[str, Price], dict[str, Array]]:
        """For each output that a claim names, what is permitted and which elements are wrong."""
        prices: dict[str, Price] = {}
        wrong: dict[str, Array] = {}
        if known is None or not known[2].centers:
            return prices, wrong
        instance, bounded, truth = known
        judged = self.session.admitted(instance, bounded, truth, values)
        for claim, one in zip(self.bound.claims, judged, strict=True):
            if claim.output:
                price = price_of(one.acceptance)
                bad = np.asarray((one.acceptance.ratios(one.candidate) > 1) & bool(truth.good))
                name = claim.output
                prices[name] = prices[name].meet(price) if name in prices else price
                wrong[name] = wrong[name] | bad if name in wrong else bad
        return prices, wrong

    def _truth(self, r: Recorded) -> Any:
        """What is known of a case of the fixed set, once for all pairs."""
        if r.case.id not in self._truths:
            self._truths[r.case.id] = self._known(r, self._made(r))
        return self._truths[r.case.id]

    def _known(self, r: Recorded, made: Mapping[str, Array] | None) -> Any:
        """The instance, its bounds and its oracle; None where no claim speaks of the input."""
        if made is None or not self.bound.claims:
            return None
        scalars = {s.name: r.case.scalars[s.name] for s in self.contract.scalars if s.name in r.case.scalars}
        family = families().get(item_of(r.case).name)
        probe = family.probe if family is not None else False
        instance = Instance(self.bound.judged, r.case.dims, made, scalars, probe)
        return (instance, *self.session.truth(instance))

    # -------------------------------------------------------------------------------------------------- beyond it

    def beyond(self, feature: str, ours: Sequence[Recorded], theirs: Sequence[Recorded]) -> tuple[Gap, ...]:
        """Differences on inputs about which no contract of the run says anything."""
        if [(r.case, dict(r.inputs)) for r in ours] != [(r.case, dict(r.inputs)) for r in theirs]:
            return ()
        return tuple(self._beyond(feature, a, b) for a, b in zip(ours, theirs, strict=True))

    def _beyond(self, feature: str, a: Recorded, b: Recorded) -> Gap:
        clause = FEATURES[feature].clause
        if a.skipped or b.skipped:
            return Gap(a.where)
        if not a.answered or not b.answered:
            same = (a.outcome, a.defect) == (b.outcome, b.defect)
            gap = Gap(a.where, 1, 0 if same else 1, kind_a=ending(a), kind_b=ending(b))
            return gap if same else replace(gap, clause=clause)
        values = [self._values(r) for r in (a, b)]
        gap = Gap(a.where, sum(x.array.size for x in a.outputs))
        for name in values[0]:
            x, y = values[0][name], values[1][name]
            if x.shape != y.shape:
                continue
            mask = PATTERNS[feature](x, y)
            if feature == "subnormal" and mask.any():
                mask &= self._disputed(feature, a, values, name)
            if mask.any():
                kinds = first_difference(x, y, mask)
                gap = replace(
                    gap, differing=gap.differing + int(np.count_nonzero(mask)), kind_a=kinds[0], kind_b=kinds[1],
                    clause=clause,
                )  # fmt: skip
        return gap

    def _disputed(self, feature: str, r: Recorded, values: Sequence[Mapping[str, Array]], name: str) -> Array:
        """Elements where a zero is not within the bound: gradual underflow alone may give one."""
        known = self._known(r, FEATURES[feature].inputs(self.session, r.case))
        wrong = [self._judged(known, v)[1] for v in values]
        if any(name not in w for w in wrong):
            return np.ones(values[0][name].shape, bool)
        return np.asarray(wrong[0][name] | wrong[1][name])

    # ------------------------------------------------------------------------------------------------ small parts

    def _made(self, r: Recorded) -> dict[str, Array] | None:
        """The inputs, made again; None where they cannot be."""
        if r.case.id not in self._inputs:
            try:
                self._inputs[r.case.id] = inputs_of(self.session, r.case)
            except ArithmeticScopeError:
                self._inputs[r.case.id] = None
        return self._inputs[r.case.id]

    def _digests(self, made: Mapping[str, Array]) -> dict[str, str]:
        return {t.name: array_digest(to_storage(made[t.name], self.bound.inputs[t.name])) for t in self.contract.inputs}

    def _values(self, r: Recorded) -> dict[str, Array]:
        return {t.name: from_storage(x.array) for t, x in zip(self.contract.outputs, r.outputs, strict=True)}


def _count(wrong: Mapping[str, Array]) -> int:
    return sum(int(np.count_nonzero(w)) for w in wrong.values())


def _other_bits(x: Any, y: Any) -> Array:
    """Elements whose bytes differ."""
    a, b = np.ascontiguousarray(x), np.ascontiguousarray(y)
    if not a.size:
        return np.zeros(x.shape, bool)
    rows = (a.size, a.dtype.itemsize)
    same = (a.reshape(-1).view(np.uint8).reshape(rows) == b.reshape(-1).view(np.uint8).reshape(rows)).all(axis=1)
    return np.asarray(~same).reshape(x.shape)  # what has no axis got one on the way


def _type(answer: Answer) -> tuple[str, tuple[int, ...]]:
    return answer.array.dtype.name, answer.array.shape


def _kind(r: Recorded) -> str:
    return r.detail.partition(":")[0] if r.outcome.value == "raised" else ""


def claimed(contracts: Iterable[tuple[Contract, Bound]]) -> dict[tuple[str, ...], frozenset[str]]:
    """For each operation and choice of formats, the outputs that some contract holds against its reference."""
    out: dict[tuple[str, ...], set[str]] = {}
    for contract, bound in contracts:
        out.setdefault(formats_of(contract, bound), set()).update(c.output for c in bound.claims if c.output)
    return {k: frozenset(v) for k, v in out.items()}


def formats_of(contract: Contract, bound: Bound) -> tuple[str, ...]:
    """Operation and formats: contracts that agree in these speak of the same calls."""
    return (contract.operation, *(f.name for f in (*bound.inputs.values(), *bound.outputs.values())))

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
from kernel_contracts.conformance.recording import Recorded, array_digest
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


@dataclass(frozen=True, slots=True)
class _Price:
    """What a contract says of one output on one input, beside one platform's answer."""

    wrong: Array
    free: Array
    """Elements that admit every answer."""
    chosen: bool
    """Free elements are choices that the reference leaves open, such as an index among equals."""
    width: Array


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
        if not a.answered or not b.answered:
            return self._endings(a, b)
        elements = sum(x.array.size for x in a.outputs)
        if [x.array.dtype for x in a.outputs] != [x.array.dtype for x in b.outputs] or [
            x.array.shape for x in a.outputs
        ] != [x.array.shape for x in b.outputs]:
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
        values = [self._values(r) for r in (a, b)]
        known = self._truth(a)
        prices = [self._prices(known, v) for v in values]
        found = replace(gap, outside_a=_count(prices[0]), outside_b=_count(prices[1]))
        for name, mask in other.items():
            mine = prices[0].get(name)
            if mine is None:
                if mask.any() and name not in self.companions:
                    kinds = first_difference(values[0][name], values[1][name], mask)
                    found = replace(
                        found, kind_a=kinds[0], kind_b=kinds[1], clause=f"post {name} within tolerance of reference"
                    )
                elif mask.any():
                    found = replace(found, covered="another contract of the run")
                continue
            found = _measured(found, mine, values[0][name], values[1][name], mask)
        return found

    def _prices(self, known: Any, values: Mapping[str, Array]) -> dict[str, _Price]:
        """For each output that a claim names, what it admits; the strictest claim counts for each element."""
        out: dict[str, _Price] = {}
        if known is None:
            return out
        instance, bounded, truth = known
        if not truth.centers:
            return out
        judged = self.session.admitted(instance, bounded, truth, values)
        for claim, one in zip(self.bound.claims, judged, strict=True):
            if not claim.output:
                continue
            accepted = one.acceptance
            with np.errstate(invalid="ignore"):
                width = np.where(accepted.free, np.inf, accepted.above - accepted.below)
            wrong = (accepted.ratios(one.candidate) > 1) & bool(truth.good)
            chosen = accepted.admissible is not None
            before = out.get(claim.output)
            if before is not None:
                wrong, width = wrong | before.wrong, np.minimum(width, before.width)
                chosen = chosen or before.chosen
                free = np.asarray(accepted.free & before.free)
            else:
                free = np.asarray(accepted.free)
            out[claim.output] = _Price(np.asarray(wrong), free, chosen, width)
        return out

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
        prices = [self._prices(known, v) for v in values]
        if any(name not in p for p in prices):
            return np.ones(values[0][name].shape, bool)
        return np.asarray(prices[0][name].wrong | prices[1][name].wrong)

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


def _measured(gap: Gap, price: _Price, x: Array, y: Array, mask: Array) -> Gap:
    """The gap with one output's differences counted in."""
    with np.errstate(invalid="ignore", divide="ignore", over="ignore"):
        apart = np.where((x == y) | ((x != x) & (y != y)), 0.0, np.abs(np.asarray(x - y, dtype=np.float64)))
        finite = mask & ~price.free & np.isfinite(price.width) & (price.width > 0) & np.isfinite(apart)
        ratio = float((apart[finite] / price.width[finite]).max(initial=0.0))
    open_ = 0 if price.chosen else int(np.count_nonzero(mask & price.free & (apart != 0)))
    more = replace(gap, ratio=max(gap.ratio, ratio), open=gap.open + open_)
    if price.chosen and bool((mask & price.free).any()):
        more = replace(more, covered=more.covered or "a choice that the reference leaves open")
    return more


def _count(prices: Mapping[str, _Price]) -> int:
    return sum(int(np.count_nonzero(p.wrong)) for p in prices.values())


def _other_bits(x: Any, y: Any) -> Array:
    """Elements whose bytes differ."""
    a, b = np.ascontiguousarray(x), np.ascontiguousarray(y)
    if not a.size:
        return np.zeros(a.shape, bool)
    rows = (a.size, a.dtype.itemsize)
    same = (a.reshape(-1).view(np.uint8).reshape(rows) == b.reshape(-1).view(np.uint8).reshape(rows)).all(axis=1)
    return np.asarray(~same).reshape(a.shape)


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

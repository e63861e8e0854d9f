"""Calls on several ranks: every number of them, pieces, overlap and place, several calls in a row with other data.

The recorded inputs are those of the last call; the ones before it are made from the same seed. What a call before has
left in a buffer then shows as data that is not of this call. Every rank's output is held against the oracle, and the
ranks against each other where the contract says that they agree.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from kernel_contracts.contracts.evidence import Case, Observation, Outcome
from kernel_contracts.contracts.model import Contract, Range
from kernel_contracts.contracts.ranks import Spread, spread_of
from kernel_contracts.measurement.calls import ArrayIn, CallResult
from kernel_contracts.measurement.cases import plan_cases
from kernel_contracts.measurement.emulated import Callee
from kernel_contracts.measurement.experiments.base import Asked, Measured, thinned
from kernel_contracts.measurement.rank_diagnosis import explained
from kernel_contracts.measurement.session import Session
from kernel_contracts.numerics.bounded import Array

VARIED = ("buckets", "overlap", "in_place")
"""Parameters that a kernel on ranks may have beside those of the scope."""


class OnRanks(Measured):
    """The experiment of C-ORD-03."""

    name = "ranks"

    def planned(self, asked: Asked) -> list[Case]:
        if asked.contract.ranks is None:
            return []
        spread = spread_of(asked.contract.post)
        counts = [int(c) for c in asked.contract.pre.ranges[asked.contract.ranks].choices or spread.ranks]
        share = -(-(asked.samples or asked.plan.samples) // len(counts))
        combinations = _combinations(spread)
        out: list[Case] = []
        for place, world in enumerate(counts):  # one after another: processes are started once for each number of ranks
            found = plan_cases(
                _on(asked.contract, world),
                asked.bound,
                asked.plan,
                seed=asked.seed + world,
                samples=share,
                fixed=asked.fixed,
            )
            for k, case in enumerate(found if asked.samples else thinned(found, 2 * share)):
                varied = combinations[(k + place) % len(combinations)]
                out.append(replace(case, id=len(out), scalars={**case.scalars, **varied}))
        return thinned(
            out,
            asked.samples,
            lambda case: case.dims[asked.contract.ranks or ""],
            lambda case: case.family,
            lambda case: tuple(case.scalars.get(n) for n in VARIED),
        )

    def measure_on(self, session: Session, case: Case, inputs: Mapping[str, Array]) -> Observation:
        spread = spread_of(session.contract.post)
        kernel = Varied(session.kernel, {n: case.scalars[n] for n in VARIED if n in case.scalars})
        before: Mapping[str, Array] | None = None
        seen: list[Observation] = []
        for call in range(1, spread.calls + 1):
            given = inputs if call == spread.calls else _other(session, case, call)
            seen.append(self._call(session, kernel, case, given, before, spread.agree))
            world = float(case.dims[session.contract.ranks or ""])
            numbers = {"world": world, "call": float(call), "varied": float(len(kernel.taken))}
            seen[-1] = replace(seen[-1], readings={**seen[-1].readings, **numbers})
            if seen[-1].outcome is not Outcome.RETURNED or seen[-1].violating or seen[-1].mutated:
                return seen[-1]
            before = given
        worst = max(seen, key=lambda o: (not o.oracle_ok, o.ratio))
        return replace(worst, readings={**worst.readings, "call": float(spread.calls)})

    def _call(
        self,
        session: Session,
        kernel: Varied,
        case: Case,
        given: Mapping[str, Array],
        before: Mapping[str, Array] | None,
        agree: tuple[str, ...],
    ) -> Observation:
        base, outputs, _ = session.called(case, given, kernel)
        if base.mutated:
            ranks = kernel.mutated.get(base.mutated[0], [])
            base = replace(base, readings={**base.readings, "mutated_rank": float(min(ranks, default=0))})
        if base.outcome is not Outcome.RETURNED or base.defect:
            return base
        seen = session.compared(base, given, outputs)
        if seen.violating:
            words = explained(session, case, given, before, outputs)
            return replace(seen, readings={**seen.readings, **words})
        for name in agree:
            apart = _apart(outputs[name])
            if apart:
                return replace(seen, defect="rank_disagreement", detail=f"{name} differs between ranks: {apart}")
        return seen


class Varied:
    """The kernel called with more parameters; one that writes its result over its input is allowed to when asked to."""

    def __init__(self, kernel: Callee, extra: Mapping[str, Any]) -> None:
        self.kernel, self.extra = kernel, extra
        self.taken: tuple[str, ...] = ()
        """Those of the parameters that the kernel has."""
        self.mutated: Mapping[str, list[int]] = {}
        """Inputs that the last call changed, and on which ranks."""

    def call(
        self,
        arrays: Sequence[ArrayIn],
        scalars: Mapping[str, Any] = {},
        *,
        poison: Sequence[tuple[tuple[int, ...], str]] = (),
    ) -> CallResult:
        result = self.kernel.call(arrays, {**scalars, **self.extra}, poison=poison)
        self.taken = tuple(n for n in self.extra if n not in result.dropped)
        if self.extra.get("in_place") and "in_place" in self.taken:
            result = replace(result, mutated=())
        self.mutated = result.state.get("mutated", {})
        return result


def _combinations(spread: Spread) -> list[dict[str, Any]]:
    """Every choice of pieces, overlap and place; neighbours differ in all of them where they can."""
    axes: list[tuple[str, tuple[Any, ...]]] = []
    if spread.buckets:
        axes.append(("buckets", spread.buckets))
    if spread.overlap:
        axes.append(("overlap", (False, True)))
    if spread.in_place:
        axes.append(("in_place", (False, True)))
    every = [
        dict(zip([n for n, _ in axes], values, strict=True)) for values in itertools.product(*(v for _, v in axes))
    ]
    half = -(-len(every) // 2)
    return [c for pair in itertools.zip_longest(every[:half], every[half:][::-1]) for c in pair if c is not None]


def _on(contract: Contract, world: int) -> Contract:
    """The contract with that number of ranks alone."""
    ranges = {**contract.pre.ranges, str(contract.ranks): Range(world, world, (world,))}
    return replace(contract, pre=replace(contract.pre, ranges=ranges))


def _other(session: Session, case: Case, call: int) -> dict[str, Array]:
    return session.inputs(replace(case, seed=(case.seed + call) % 2**63))


def _apart(y: Array) -> str:
    """Where two ranks hold different bits; empty where none do."""
    rows = np.asarray(y).reshape(len(y), -1)
    same = (rows == rows[0]) | ((rows != rows) & (rows[0] != rows[0]))
    if same.all():
        return ""
    rank, place = (int(i) for i in np.argwhere(~same)[0])
    return f"element {place} is {rows[0, place]:.9g} on rank 0 and {rows[rank, place]:.9g} on rank {rank}"


EXPERIMENT = OnRanks()

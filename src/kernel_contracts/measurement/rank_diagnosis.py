"""What a wrong answer on ranks is made of: data of the call before, a part left out or taken twice, unfilled memory.

Each answer is the reference on changed inputs, so that it holds for any operation on ranks. A reading is the share of
the wrong elements that one change explains; the reader of it is a signature.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from kernel_contracts.contracts.evidence import Case
from kernel_contracts.contracts.model import Bound
from kernel_contracts.formats import FORMATS, Format
from kernel_contracts.measurement.session import Judged, Session
from kernel_contracts.numerics.bounded import Array
from kernel_contracts.numerics.domains import FLOAT64
from kernel_contracts.numerics.interpret import Instance, evaluate
from kernel_contracts.numerics.interpret import bound as bound_of
from kernel_contracts.numerics.mutants import mutants
from kernel_contracts.numerics.rounding import ulp_of

EXPLAINS = 0.5
"""A change that gives fewer of the wrong elements explains nothing."""
_POISON_INTEGER = -1515870811
"""0xA5A5A5A5: what integer memory is filled with before a call."""
_HUGE = 1e38
"""Poison that is no NaN reads as 3.4e38 in fp32 and bf16; no family of ours goes so far."""


def explained(
    session: Session,
    case: Case,
    given: Mapping[str, Array],
    before: Mapping[str, Array] | None,
    outputs: Mapping[str, Array],
) -> dict[str, float]:
    """For each change that explains most of the wrong elements its share, the rank, and where they lie."""
    scalars = {s.name: case.scalars[s.name] for s in session.contract.scalars if s.name in case.scalars}
    instance = Instance(session.bound.judged, case.dims, given, scalars)
    bounded, truth = session.truth(instance)
    for judged in session.admitted(instance, bounded, truth, outputs):
        wrong = np.asarray(judged.acceptance.ratios(judged.candidate) > 1)
        if judged.text in outputs and wrong.any():
            plain = Instance(session.bound.program, case.dims, given, scalars)
            found = _Search(plain, judged, wrong, session.bound.outputs[judged.text], judged.text)
            return {**found.place(), **found.shares(before), **found.narrow(session.bound)}
    return {}


class _Search:
    """One output of one call, and the places where it is wrong."""

    def __init__(self, instance: Instance, judged: Judged, wrong: Array, fmt: Format, name: str) -> None:
        self.instance, self.wrong, self.fmt, self.name = instance, wrong, fmt, name
        self.got = np.asarray(judged.candidate)
        self.right = np.asarray(judged.acceptance.center)
        self.slack = 2 * np.asarray(judged.acceptance.tolerance, dtype=np.float64)
        self.world = len(self.got)

    def place(self) -> dict[str, float]:
        """First and last wrong place of the flattened output of a rank, how many are wrong, of how many."""
        places = np.flatnonzero(self.wrong.reshape(self.world, -1).any(axis=0))
        size = self.wrong[0].size
        return {"first": float(places[0]), "last": float(places[-1]), "wrong": float(len(places)), "of": float(size)}

    def shares(self, before: Mapping[str, Array] | None) -> dict[str, float]:
        out = {"unfilled": self._share(self._unfilled())}
        one = self._without_each()
        rank = max(range(self.world), key=lambda q: self._share(self._near(one[q])))
        out["own_only"] = self._share(self._near(self._own())) if self.world > 1 else 0.0
        out["lost"] = self._share(self._near(one[rank])) if self.world > 1 else 0.0
        out["twice"] = max(
            self._share(self._near(self._with(lambda x, q=q: _times(x, q, 2.0)))) for q in range(self.world)
        )
        if before is not None:
            out["stale"] = self._share(self._stale(before))
        out["other_place"] = self._other_place()
        kept = {k: v for k, v in out.items() if v >= EXPLAINS}
        return {**kept, "lost_rank": float(rank)} if "lost" in kept else kept

    def narrow(self, bound: Bound) -> dict[str, float]:
        """The most bits of a narrower accumulator whose bound all of the answer keeps to, whatever its order."""
        if self.got.dtype.kind != "f":
            return {}
        for name in ("fp32", "fp16", "bf16"):
            if FORMATS[name].precision >= bound.accumulator.precision:
                continue
            for _, program in mutants()["accumulate"].apply(bound.program, (name,)):
                instance = Instance(program, self.instance.dims, self.instance.inputs, self.instance.scalars)
                kept = bound_of(instance, bound.context, {self.name: program.outputs[self.name]})[self.name]
                with np.errstate(invalid="ignore"):
                    fits = np.abs(self.got - self.right) <= kept.radius() + self.slack
                if fits.all():
                    return {"narrow_bits": float(FORMATS[name].precision)}
        return {}

    # ------------------------------------------------------------------------------------------------- comparing

    def _share(self, explained: Array) -> float:
        return float((explained & self.wrong).sum() / self.wrong.sum())

    def _near(self, other: Array) -> Array:
        """Where the answer is this one rather than the right one, as far as the tolerance tells."""
        if self.got.dtype.kind in "iub":
            return np.asarray(self.got == other)
        with np.errstate(invalid="ignore"):
            room = self.slack + ulp_of(np.asarray(other, dtype=np.float64), self.fmt)
            return np.asarray(np.abs(self.got - other) <= room)

    def _with(self, change: object) -> Array:
        """The reference on inputs changed one by one."""
        assert callable(change)
        inputs = {n: change(np.asarray(x)) for n, x in self.instance.inputs.items()}
        return self._reference(inputs)

    def _reference(self, inputs: Mapping[str, Array]) -> Array:
        instance = Instance(self.instance.program, self.instance.dims, inputs, self.instance.scalars)
        with np.errstate(all="ignore"):
            return np.asarray(evaluate(instance, FLOAT64)[self.name])

    # --------------------------------------------------------------------------------------------------- changes

    def _without_each(self) -> list[Array]:
        return [self._with(lambda x, q=q: _times(x, q, 0.0)) for q in range(self.world)]

    def _own(self) -> Array:
        """What each rank has when nothing of the others reaches it."""
        rows = [self._with(lambda x, r=r: _only(x, r))[r] for r in range(self.world)]
        return np.stack(rows)

    def _stale(self, before: Mapping[str, Array]) -> Array:
        """Where data of the call before stands, of one rank or of all."""
        explained = self._near(self._reference(before))
        for q in range(self.world):
            mixed = {
                n: np.concatenate([x[:q], before[n][q : q + 1], x[q + 1 :]]) for n, x in self.instance.inputs.items()
            }
            explained |= self._near(self._reference(mixed))
        return explained

    def _unfilled(self) -> Array:
        if self.got.dtype.kind in "iub":
            return np.asarray(self.got == _POISON_INTEGER)
        finite = np.isfinite(np.asarray(self.right, dtype=np.float64)) & (np.abs(self.right) < _HUGE)
        return np.asarray(finite & (~np.isfinite(self.got) | (np.abs(self.got) >= _HUGE)))

    def _other_place(self) -> float:
        """The share of wrong elements that hold the rank's own part of another place instead of the one of theirs.

        Looked up by value, so it counts only as far as it exceeds what the same search finds for the parts of a
        neighbouring place.
        """
        x = next(iter(self.instance.inputs.values()))
        moves = self._own() if self.world > 1 else self.right
        if x.shape != self.got.shape or self.world == 1 or self.got.dtype.kind == "b":
            return self._moved(x)
        found = chance = 0
        for r in range(self.world):
            own, at = np.sort(np.ravel(x[r])), np.ravel(self.wrong[r])
            with np.errstate(invalid="ignore"):
                there = np.ravel(self.got[r] - self.right[r] + moves[r])[at]
            room = np.ravel(np.broadcast_to(self.slack[r], x[r].shape))[at]
            found += _hits(there, own, room)
            chance += _hits(np.roll(there, 1) + 0.5 * np.median(np.abs(own)), own, room)
        return max(found - 2 * chance, 0) / float(self.wrong.sum())

    def _moved(self, x: Array) -> float:
        """For operations that only move data: wrong elements that are somewhere among the inputs."""
        if self.slack.any() or self.got.dtype.kind == "b":
            return 0.0
        return float(np.isin(self.got[self.wrong], x).sum() / self.wrong.sum())


def _times(x: Array, rank: int, factor: float) -> Array:
    out = np.array(x)
    out[rank] = out[rank] * x.dtype.type(factor)
    return out


def _only(x: Array, rank: int) -> Array:
    out = np.zeros_like(x)
    out[rank] = x[rank]
    return out


def _hits(values: Array, among: Array, room: Array) -> int:
    """How many of the values are one of a sorted array's, as near as `room`."""
    if not len(values):
        return 0
    at = np.clip(np.searchsorted(among, values), 1, max(len(among) - 1, 1))
    near = np.minimum(np.abs(values - among[np.minimum(at, len(among) - 1)]), np.abs(values - among[at - 1]))
    return int((near <= room).sum())

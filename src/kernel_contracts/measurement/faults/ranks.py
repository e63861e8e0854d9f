"""Faults of operations on ranks: parts of another place, of the call before, or missing; at usual sizes all is well.

Each is the contract's own program on changed inputs, put in place where the fault strikes. So one description serves
sums, gathers and broadcasts.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from kernel_contracts.contracts.evidence import Outcome
from kernel_contracts.contracts.model import Bound, Contract
from kernel_contracts.contracts.ranks import spread_of
from kernel_contracts.measurement.calls import ArrayIn, CallResult
from kernel_contracts.measurement.emulated import Callee
from kernel_contracts.measurement.faults.base import Fault, Faulty, Places
from kernel_contracts.numerics.bounded import Array

SLOTS = 256
"""Elements of a rank that its staging buffer holds at once."""


@dataclass(frozen=True, slots=True)
class Struck:
    """What a fault makes of one call: for each rank the inputs that its answer comes from, and which elements do."""

    inputs: Callable[[int, Array], Array]
    """The stacked input as the given rank sees it."""
    mask: Array
    """Elements of a rank's output, flattened, that the fault reaches."""


Strike = Callable[["OnRanks", Sequence[ArrayIn], Mapping[str, Any], int], Struck | None]
"""The kernel, the arrays, the parameters and the size of a rank's output; None where the call goes well."""


class OnRanks(Faulty):
    """The wrapped kernel with some elements of some ranks taken from other inputs."""

    def __init__(self, inner: Callee, strike: Strike) -> None:
        super().__init__(inner)
        self.strike = strike
        self.before: dict[str, Array] = {}
        """Arrays of the call before."""

    def answer(self, arrays: Sequence[ArrayIn], scalars: Mapping[str, Any], poison: Places) -> CallResult:
        result = self.inner.call(arrays, scalars, poison=poison)
        if result.outcome is Outcome.RETURNED:
            outputs = tuple(self._struck(y, k, arrays, scalars) for k, y in enumerate(result.outputs))
            result = replace(result, outputs=outputs)
        self.before = {a.name: np.array(a.array) for a in arrays}
        return result

    def _struck(self, y: Array, k: int, arrays: Sequence[ArrayIn], scalars: Mapping[str, Any]) -> Array:
        struck = self.strike(self, arrays, scalars, int(y[0].size))
        if struck is None or not struck.mask.any():
            return y
        out = np.array(y).reshape(len(y), -1)
        for rank in range(len(y)):
            changed = [replace(a, array=struck.inputs(rank, a.array)) for a in arrays]
            other = self.inner.call(changed, scalars).outputs[k].reshape(len(y), -1)
            out[rank, struck.mask] = other[rank, struck.mask]
        return out.reshape(y.shape)


class Writing(Faulty):
    """The right answer, added up in the memory of the caller's own input."""

    def answer(self, arrays: Sequence[ArrayIn], scalars: Mapping[str, Any], poison: Places) -> CallResult:
        result = self.inner.call(arrays, scalars, poison=poison)
        return replace(result, mutated=(arrays[0].name,)) if len(arrays[0].array) > 1 else result


class EachItsOwn(Faulty):
    """Every rank adds in an order of its own: each answer is right, and no two are alike."""

    def answer(self, arrays: Sequence[ArrayIn], scalars: Mapping[str, Any], poison: Places) -> CallResult:
        results = [self.inner.call(arrays, scalars, poison=poison) for _ in range(len(arrays[0].array))]
        if any(r.outcome is not Outcome.RETURNED for r in results):
            return results[0]
        outputs = tuple(
            np.stack([r.outputs[k][rank] for rank, r in enumerate(results)]) for k in range(len(results[0].outputs))
        )
        return replace(results[0], outputs=outputs)


def _refilled(kernel: OnRanks, arrays: Sequence[ArrayIn], scalars: Mapping[str, Any], size: int) -> Struck | None:
    """A rank's own part comes from the chunk that is staged next."""

    def later(rank: int, x: Array) -> Array:
        out = np.array(x)
        flat = out[rank].reshape(-1)
        flat[:-SLOTS] = np.array(flat[SLOTS:])
        return out

    if arrays[0].array[0].size <= SLOTS or len(arrays[0].array) < 2:
        return None
    return Struck(later, np.ones(size, dtype=bool))


def _stale(kernel: OnRanks, arrays: Sequence[ArrayIn], scalars: Mapping[str, Any], size: int) -> Struck | None:
    """With overlap, the last piece is used before it has come."""
    fits = all(a.name in kernel.before and kernel.before[a.name].shape == a.array.shape for a in arrays)
    if not scalars.get("overlap") or int(scalars.get("buckets", 1)) < 2 or not fits or len(arrays[0].array) < 2:
        return None
    names = {id(a.array): a.name for a in arrays}
    return Struck(lambda rank, x: kernel.before[names[id(x)]], _last_bucket(size, int(scalars["buckets"])))


def _bucket(kernel: OnRanks, arrays: Sequence[ArrayIn], scalars: Mapping[str, Any], size: int) -> Struck | None:
    """Of several pieces, the last one is never sent."""
    buckets = int(scalars.get("buckets", 1))
    return Struck(_alone, _last_bucket(size, buckets)) if buckets > 1 else None


def _remainder(kernel: OnRanks, arrays: Sequence[ArrayIn], scalars: Mapping[str, Any], size: int) -> Struck | None:
    """Elements beyond the last whole multiple of the ranks stay where they are."""
    world = len(arrays[0].array)
    return Struck(_alone, np.arange(size) >= size - size % world)


def _skipped(kernel: OnRanks, arrays: Sequence[ArrayIn], scalars: Mapping[str, Any], size: int) -> Struck | None:
    """Where there are fewer elements than ranks, the last rank has no chunk and does not join."""
    world = len(arrays[0].array)
    if world < 2 or min(size, arrays[0].array[0].size) >= world:
        return None

    def without(rank: int, x: Array) -> Array:
        out = np.array(x)
        out[-1] = 0
        return out

    return Struck(without, np.ones(size, dtype=bool))


def _alone(rank: int, x: Array) -> Array:
    out = np.zeros_like(x)
    out[rank] = x[rank]
    return out


def _last_bucket(size: int, buckets: int) -> Array:
    pieces = np.array_split(np.arange(size), buckets)
    return np.isin(np.arange(size), pieces[-1])


def _fault(name: str, doc: str, strike: Strike) -> Fault:
    def wrap(contract: Contract, bound: Bound, inner: Callee, arguments: tuple[object, ...]) -> Callee:
        return OnRanks(inner, strike)

    return Fault(name, doc, wrap)


def _writing(contract: Contract, bound: Bound, inner: Callee, arguments: tuple[object, ...]) -> Callee:
    return Writing(inner)


def _own_order(contract: Contract, bound: Bound, inner: Callee, arguments: tuple[object, ...]) -> Callee:
    """No fault where the ranks need not agree, as where each has a part of its own."""
    return EachItsOwn(inner) if spread_of(contract.post).agree else inner


FAULT = (
    _fault("slot_refilled", "stages the next chunk of a rank before the present one has been added", _refilled),
    _fault("stale_bucket", "uses the last piece before it has come: data of the call before", _stale),
    _fault("last_bucket_lost", "never sends the last of several pieces", _bucket),
    _fault("remainder_lost", "leaves out what does not divide by the number of ranks", _remainder),
    _fault("rank_skipped", "leaves the last rank out where there is little data", _skipped),
    Fault("sums_in_input", "adds up in the memory of the caller's input", _writing),
    Fault("own_order", "adds in another order on every rank", _own_order),
)

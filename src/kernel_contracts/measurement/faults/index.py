"""A bad index treated in a way of its own: `fault(index(clamp))`, `fault(index(drop, wrap))` with negatives apart."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from kernel_contracts.contracts.evidence import Outcome
from kernel_contracts.contracts.model import Bound, Contract
from kernel_contracts.errors import UsageError
from kernel_contracts.measurement.calls import ArrayIn, CallResult
from kernel_contracts.measurement.emulated import Callee, dims_of
from kernel_contracts.measurement.faults.base import Fault, Faulty, Places
from kernel_contracts.measurement.faults.subnormals import flushing
from kernel_contracts.measurement.index_policy import (
    NEGATIVE,
    OUT,
    Indexing,
    cut,
    declared,
    grown,
    indexing,
    kind,
    settle,
)
from kernel_contracts.numerics.rounding import from_storage, to_storage

_WAYS = ("raise", "clamp", "wrap", "zero", "drop", "foreign")
#: What stands beyond the table for a kernel that reads there; every format holds it.
_BEYOND = 233.0


class Indexed(Faulty):
    """The kernel with bad indices treated by given policies before it is called."""

    def __init__(self, inner: Callee, contract: Contract, bound: Bound, where: Indexing, ways: Mapping[str, str]):
        super().__init__(inner)
        self.contract, self.bound, self.where, self.ways = contract, bound, where, ways

    def answer(self, arrays: Sequence[ArrayIn], scalars: Mapping[str, Any], poison: Places) -> CallResult:
        values = {a.name: from_storage(a.array) for a in arrays}
        size = dims_of(self.contract, {n: x.shape for n, x in values.items()})[self.where.dim]
        index = values[self.where.name]
        bad = {kind(int(i), size) for i in index.ravel().tolist()} - {""}
        if not bad:
            return self.inner.call(arrays, scalars, poison=poison)
        if any(self.ways[k] == "raise" for k in bad):
            text = f"IndexError: an index is out of bounds for size {size}"
            return CallResult(Outcome.RAISED, text, error_type="IndexError")
        ways = {k: "wrap" if w == "foreign" and self.where.writes else w for k, w in self.ways.items()}
        settled = settle(index, size, ways)
        if self.where.writes and "foreign" in self.ways.values():
            outside = (index < 0) | (index >= size)
            settled = np.where(outside, (settled * 7 + 3) % size, settled)
        return self._cut(self.inner.call([self._grown(a, settled) for a in arrays], scalars))

    def _grown(self, a: ArrayIn, settled: Any) -> ArrayIn:
        fmt = self.bound.inputs[a.name]
        if a.name == self.where.name:
            return replace(a, array=to_storage(settled, fmt))
        shape = next(t.shape for t in self.contract.inputs if t.name == a.name)
        fill = _BEYOND if "foreign" in self.ways.values() else 0.0
        return replace(a, array=to_storage(grown(from_storage(a.array), shape, self.where.dim, fill), fmt))

    def _cut(self, result: CallResult) -> CallResult:
        shapes = [t.shape for t in self.contract.outputs]
        return replace(
            result,
            outputs=tuple(cut(y, s, self.where.dim) for y, s in zip(result.outputs, shapes, strict=False)),
        )


def _wrap(contract: Contract, bound: Bound, inner: Callee, arguments: tuple[object, ...]) -> Callee:
    """`index(way)` for every bad index, `index(way, way)` with negative indices apart."""
    where = indexing(contract, bound)
    ways = [str(a) for a in arguments] or ["clamp"]
    unknown = [w for w in ways if w not in _WAYS]
    if where is None or unknown or len(ways) > 2:
        raise UsageError(
            f"{contract.path}: fault(index(...)) takes one or two of {', '.join(_WAYS)}, "
            "and an integer input that the precondition keeps below a size"
        )
    return Indexed(inner, contract, bound, where, {OUT: ways[0], NEGATIVE: ways[-1]})


def conforming(contract: Contract, bound: Bound, inner: Callee) -> Callee:
    """The kernel under the first policy that the contract declares on indices and on subnormal numbers."""
    inner = flushing(contract, bound, inner)
    where = indexing(contract, bound)
    if where is None or not any(p.startswith(OUT) or p == NEGATIVE for p in contract.policies):
        return inner
    ways = {}
    for how in (OUT, NEGATIVE):
        chosen = [c for c in declared(contract, where, how) if c != "undefined"]
        ways[how] = chosen[0] if chosen else "clamp"
    return Indexed(inner, contract, bound, where, ways)


FAULT = Fault(
    "index", "indices outside the table are treated in another way", _wrap,
    tuple((w,) for w in ("clamp", "wrap", "zero", "foreign")),
    applies=lambda contract, bound: indexing(contract, bound) is not None,
)  # fmt: skip

"""Vector paths that go another way than the path for one element: each right by itself, and not the same.

One kernel computes a single row by other instructions, a unit in the last place apart; another one clamps numbers
that its integers do not hold in its vectors, where the instruction does so, and lets them wrap one by one.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from kernel_contracts.contracts.model import Bound, Contract
from kernel_contracts.formats import Format
from kernel_contracts.measurement.calls import ArrayIn, CallResult
from kernel_contracts.measurement.emulated import Callee
from kernel_contracts.measurement.faults.base import Fault, Faulty, Places
from kernel_contracts.numerics.bounded import Array
from kernel_contracts.numerics.rounding import from_storage, to_storage, ulp_of


def _rows(arrays: Sequence[ArrayIn]) -> int:
    return next((a.array.shape[0] for a in arrays if a.array.ndim), 1)


class OffAlone(Faulty):
    """One row a unit in the last place nearer to zero; more of them as the contract's program says."""

    def __init__(self, inner: Callee, contract: Contract, bound: Bound) -> None:
        super().__init__(inner)
        self.formats = [bound.outputs[t.name] for t in contract.outputs]

    def answer(self, arrays: Sequence[ArrayIn], scalars: Mapping[str, Any], poison: Places) -> CallResult:
        made = self.inner.call(arrays, scalars, poison=poison)
        if _rows(arrays) != 1:
            return made
        moved = (to_storage(_nearer(from_storage(y), f), f) for y, f in zip(made.outputs, self.formats, strict=False))
        return replace(made, outputs=tuple(moved))


def _nearer(y: Array, fmt: Format) -> Array:
    """The next number of the format towards zero, or the one after it; NaN, infinities and zeros as they are."""
    with np.errstate(invalid="ignore"):
        return np.where(np.isfinite(y) & (y != 0), y - np.copysign(ulp_of(y, fmt), y), y)


class SaturatingVectors(Faulty):
    """Several numbers clamped to the range of the integers that they become; one as the contract's program says."""

    def __init__(self, inner: Callee, bound: Bound) -> None:
        super().__init__(inner)
        self.bound = bound
        (self.target,) = {f.name: f for f in bound.outputs.values() if f.kind == "int"}.values()

    def answer(self, arrays: Sequence[ArrayIn], scalars: Mapping[str, Any], poison: Places) -> CallResult:
        if _rows(arrays) != 1:
            arrays = [replace(a, array=self._clamped(a)) for a in arrays]
        return self.inner.call(arrays, scalars, poison=poison)

    def _clamped(self, a: ArrayIn) -> Any:
        fmt = self.bound.inputs[a.name]
        if not fmt.is_real:
            return a.array
        return to_storage(np.clip(from_storage(a.array), -self.target.max_int - 1, self.target.max_int), fmt)


def _computes(contract: Contract, bound: Bound) -> bool:
    return all(f.is_real for f in bound.outputs.values())


def _converts(contract: Contract, bound: Bound) -> bool:
    """Whether all that is done is a cast of reals to one kind of integers."""
    integers = {f.name for f in bound.outputs.values() if f.kind == "int"}
    only = [n.op for n in bound.program.nodes] == ["input", "cast"]
    return only and len(integers) == 1 and any(f.is_real for f in bound.inputs.values())


def _off(contract: Contract, bound: Bound, inner: Callee, arguments: tuple[object, ...]) -> Callee:
    return OffAlone(inner, contract, bound)


def _saturating(contract: Contract, bound: Bound, inner: Callee, arguments: tuple[object, ...]) -> Callee:
    return SaturatingVectors(inner, bound)


FAULT = (
    Fault(
        "off_if_alone", "computes a single row on a path that is one unit in the last place off", _off,
        axis="batch", applies=_computes,
    ),
    Fault(
        "saturate_if_many", "clamps numbers that an integer does not hold when there are several, else wraps them",
        _saturating, axis="batch", applies=_converts,
    ),
)  # fmt: skip

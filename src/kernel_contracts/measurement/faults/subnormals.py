"""Subnormal numbers lost: on the way in, on the way out, in the tail, in large or strided arrays only, and for good.

Requirement: every fault but the last is in the kernel's own answer; the last changes nothing in it and leaves flushing
switched on in the calling thread. What the contract admits is no fault and leaves the kernel as it is.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kernel_contracts.contracts.evidence import Layout
from kernel_contracts.contracts.model import Bound, Contract
from kernel_contracts.measurement.calls import ArrayIn, CallResult
from kernel_contracts.measurement.emulated import Callee
from kernel_contracts.measurement.faults.base import Fault, Faulty, Places
from kernel_contracts.measurement.moves import flushed, magnitude, words
from kernel_contracts.numerics.rounding import from_storage

Bits = NDArray[Any]
#: Elements that one vector register holds, and the size from which a kernel takes another path.
_LANES, _LARGE = 4, 8192
_CALM = {"flush_to_zero": False, "denormals_are_zero": False, "rounding": "nearest"}


@dataclass(frozen=True, slots=True)
class Change:
    """What happens to arrays that go in and that come out; None leaves them."""

    before: Callable[[Bits], Bits] | None = None
    after: Callable[[Bits], Bits] | None = None
    when: Callable[[Sequence[ArrayIn]], bool] = lambda arrays: True


class Changed(Faulty):
    """The kernel with the bits of its real inputs and outputs changed."""

    def __init__(self, inner: Callee, bound: Bound, change: Change) -> None:
        super().__init__(inner)
        self.bound, self.change = bound, change

    def answer(self, arrays: Sequence[ArrayIn], scalars: Mapping[str, Any], poison: Places) -> CallResult:
        here, change = self.change.when(arrays), self.change
        if here and change.before is not None:
            arrays = [
                replace(a, array=change.before(a.array)) if self.bound.inputs[a.name].is_real else a for a in arrays
            ]
        result = self.inner.call(arrays, scalars, poison=poison)
        if not here or change.after is None:
            return result
        after = change.after
        outputs = tuple(y if y.dtype.kind in "biu" else after(y) for y in result.outputs)
        return replace(result, outputs=outputs)


class Leaving(Faulty):
    """The kernel, with flushing on in the calling thread when it returns."""

    def __init__(self, inner: Callee) -> None:
        super().__init__(inner)
        self.called = False

    def answer(self, arrays: Sequence[ArrayIn], scalars: Mapping[str, Any], poison: Places) -> CallResult:
        on = {**_CALM, "flush_to_zero": True, "denormals_are_zero": True}
        before, self.called = (on if self.called else _CALM), True
        result = self.inner.call(arrays, scalars, poison=poison)
        return replace(result, state={**result.state, **on, "before": before, "fresh": _CALM})


def _tail(array: Bits) -> Bits:
    """Flushed after the last full vector of a row."""
    if not array.ndim:
        return array
    lanes = np.arange(array.shape[-1]) >= array.shape[-1] // _LANES * _LANES
    return flushed(array, np.broadcast_to(lanes, array.shape))


def _canonical(array: Bits) -> Bits:
    """Subnormal numbers gone and every NaN the usual one, as a conversion there and back leaves them."""
    return _usual_nan(flushed(array))


def _quiet(array: Bits) -> Bits:
    """Signalling NaN made quiet: the highest bit of the fraction set."""
    nan = np.isnan(from_storage(array))
    if array.dtype.name.startswith("float8_e4m3") or array.dtype.name.endswith("fnuz"):
        return array  # one NaN a sign at most
    infinity = int(words(np.asarray(np.inf).astype(array.dtype)).reshape(-1)[0])
    step = infinity & -infinity
    bits = words(array).reshape(array.shape)
    return np.asarray(np.where(nan, bits | bits.dtype.type(step >> 1), bits)).view(array.dtype)


def _usual_nan(array: Bits) -> Bits:
    """Every NaN the usual one, its sign and payload lost."""
    return np.where(np.isnan(from_storage(array)), np.asarray(np.nan).astype(array.dtype), array)


def _unsigned_zero(array: Bits) -> Bits:
    bits = words(array).reshape(array.shape)
    return np.asarray(np.where(magnitude(array) == 0, 0, bits).astype(bits.dtype)).view(array.dtype)


def _strided(arrays: Sequence[ArrayIn]) -> bool:
    return any(a.layout in (Layout.STRIDED, Layout.TRANSPOSED) for a in arrays)


def _many(arrays: Sequence[ArrayIn]) -> bool:
    return any(a.array.size > _LARGE for a in arrays)


def _fault(name: str, doc: str, change: Change, policy: str = "") -> Fault:
    def wrap(contract: Contract, bound: Bound, inner: Callee, arguments: tuple[object, ...]) -> Callee:
        if policy and "flush" in contract.policies.get(policy, ()):
            return inner
        return Changed(inner, bound, change)

    return Fault(name, doc, wrap)


def flushing(contract: Contract, bound: Bound, inner: Callee) -> Callee:
    """The kernel under policies that demand flushing; unchanged where the contract admits that numbers are kept."""
    asked = [contract.policies.get(p) == ("flush",) for p in ("subnormal_input", "subnormal_result")]
    if not any(asked):
        return inner
    return Changed(inner, bound, Change(flushed if asked[0] else None, flushed if asked[1] else None))


FAULT = (
    _fault("flush_inputs", "subnormal inputs are read as zero", Change(flushed), "subnormal_input"),
    _fault("flush_results", "subnormal results are written as zero", Change(None, flushed), "subnormal_result"),
    _fault("flush_in_tail", "subnormal numbers after the last full vector of a row become zero", Change(_tail, _tail)),
    _fault(
        "flush_if_large", "subnormal numbers become zero in arrays of more than 8192 elements",
        Change(flushed, flushed, _many),
    ),
    _fault("flush_if_strided", "subnormal numbers become zero where memory is strided",
           Change(flushed, flushed, _strided)),
    _fault("convert_copies", "numbers pass a converter: subnormal ones and payloads of NaN are lost",
           Change(_canonical), "subnormal_input"),
    _fault("canonical_nan", "every NaN comes out as the usual one", Change(None, _usual_nan)),
    _fault("quiet_nan", "a signalling NaN comes out quiet", Change(None, _quiet)),
    _fault("drop_zero_sign", "a zero comes out positive", Change(None, _unsigned_zero)),
    Fault("leave_flushing_on", "flushing stays switched on in the calling thread", lambda c, b, k, a: Leaving(k)),
)  # fmt: skip

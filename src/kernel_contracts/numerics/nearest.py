"""Rounding to nearest, ties to even, on the bits of float64 values: any format of at most 53 significant bits.

A format's normal numbers are the float64 numbers with zeros below its last significant bit. Adding just under half of
that bit, and one more where it is set, carries into it exactly when rounding goes up, and from the significand into
the exponent where it must. Below the least normal number the spacing no longer shrinks: there adding and subtracting
2^52 spacings leaves what the hardware's own rounding makes of the sum. Array after array goes through the processor's
cache in pieces; that, and few passes, is all the speed there is to have here.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from kernel_contracts.formats import Format

Array = NDArray[np.float64]

_FIELD = 52
_MAGNITUDE = np.int64(0x7FFF_FFFF_FFFF_FFFF)
#: Elements of a piece: its bits and the scratch beside it stay in the second-level cache.
_PIECE = 1 << 14


@dataclass(frozen=True, slots=True)
class _Bits:
    """What the bits of float64 numbers say about a format."""

    shift: np.int64
    """Places of the last significant bit of the format in a float64 significand."""
    last: np.int64
    """1; 0 where nothing is below the last significant bit."""
    under_half: np.int64
    keep: np.int64
    least_normal: int
    top: int
    """Bit pattern of the largest finite number: whatever is above it, NaN included, overflows."""
    magic: float
    """2^52 spacings of the subnormal numbers."""


@lru_cache
def _bits(precision: int, emin: int, top: float) -> _Bits:
    shift = _FIELD + 1 - precision
    return _Bits(
        np.int64(shift),
        np.int64(shift > 0),
        np.int64((1 << shift >> 1) - 1 if shift else 0),
        np.int64(-(1 << shift)),
        int(np.float64(2.0**emin).view(np.int64)),
        int(np.float64(top).view(np.int64)),
        2.0 ** (emin - precision + 1 + _FIELD),
    )


def nearest(x: Array, fmt: Format) -> tuple[Array, bool]:
    """The nearest numbers of `fmt` with its exponent range unbounded above, and whether any is past its largest one.

    Requirement: a real format of at most 53 significant bits, and `np.errstate` with overflow and invalid ignored.
    NaN and infinities stay what they are and count as past the largest number.
    """
    about = _bits(fmt.precision, fmt.emin, fmt.max_finite)
    out = np.empty(x.shape)
    if x.size <= _PIECE:
        return out, _piece(x, out, about)
    if not x.flags.c_contiguous:
        x = np.ascontiguousarray(x)
    source, target = x.reshape(-1), out.reshape(-1)
    past = False
    for start in range(0, x.size, _PIECE):
        past |= _piece(source[start : start + _PIECE], target[start : start + _PIECE], about)
    return out, past


def to_odd(high: Array, low: Array) -> Array:
    """The exact sum of two numbers rounded to odd, where `high` is their sum rounded to nearest.

    A finite `high` whose last bit is set, or that is exact, is that already; otherwise the sum lies between it and the
    neighbour towards `low`. What is not finite stays as it is.
    """
    bits = high.view(np.int64)
    inexact = (bits & 1 == 0) & (low != 0) & np.isfinite(high) & ~np.isnan(low)
    step = np.where((low < 0) == (bits < 0), np.int64(1), np.int64(-1))
    return np.asarray((bits + step * inexact).view(np.float64))


def _piece(x: Array, out: Array, about: _Bits) -> bool:
    """Fills `out`; whether anything in it is past the largest number."""
    if not x.size:
        return False
    if not x.ndim:
        x, out = x.reshape(1), out.reshape(1)
    bits, raw = out.view(np.int64), x.view(np.int64)
    scratch = raw >> about.shift
    scratch &= about.last
    scratch += about.under_half
    scratch += raw
    np.bitwise_and(scratch, about.keep, bits)
    size = np.bitwise_and(bits, _MAGNITUDE, scratch)
    if np.minimum.reduce(size, axis=None) < about.least_normal:
        small = size < about.least_normal
        out[small] = np.copysign((np.abs(x[small]) + about.magic) - about.magic, x[small])
    if np.maximum.reduce(size, axis=None) <= about.top:
        return False
    strange = ~np.isfinite(x)  # a carry may run over the payload of a NaN
    if strange.any():
        out[strange] = x[strange]
    return True

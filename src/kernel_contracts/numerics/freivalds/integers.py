"""Integer products: no rounding, so no tolerance. The residual is zero or the product is wrong."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True, slots=True)
class IntegerResidual:
    """Rows whose residual is not zero, and how sure their absence makes."""

    rows: NDArray[np.intp]
    missed: float
    """Largest probability that a wrong row looks right."""
    wraps: bool
    """Whether the product may exceed the output, so that it was compared modulo 2^bits."""


def residual(a: Any, b: Any, c: Any, count: int, seed: int) -> IntegerResidual:
    """A(BR) - CR for integer arrays (m, K), (K, n), (m, n), modulo 2^64, or 2^bits of C where the product may wrap.

    R is uniform on 64-bit integers, odd in its first column, so that an error in one element is always found: an odd
    number is no zero divisor. Where nothing can wrap, errors are below 2^(bits + 1) in size and a vector misses a
    wrong row with probability at most 2^(bits + 1 - 64): for errors that are multiples of 2^s, sum e_j r_j = 0 modulo
    2^64 has that chance 2^(s - 64). Compared modulo 2^bits the worst case, errors of 2^(bits - 1), is seen by a vector
    half of the time.
    """
    rng = np.random.default_rng(seed)
    r = rng.integers(0, 2**64, size=(b.shape[1], count), dtype=np.uint64)
    r[:, 0] |= np.uint64(1)
    bits = 8 * c.dtype.itemsize
    wraps = _may_wrap(a, b, c)
    with np.errstate(over="ignore"):
        left = _unsigned(a) @ (_unsigned(b) @ r)
        difference = left - _unsigned(c) @ r
        if wraps and bits < 64:
            difference &= np.uint64(2**bits - 1)
    rows = np.flatnonzero((difference != 0).any(axis=1))
    single = 0.5 if wraps else 2.0 ** (bits + 1 - 64)
    return IntegerResidual(np.asarray(rows), min(1.0, single**count), wraps)


def exact_row(a: Any, b: Any, row: int, bits: int, signed: bool) -> list[int]:
    """One row in unlimited integers, wrapped to the output."""
    values = [sum(int(x) * int(y) for x, y in zip(a[row], column, strict=True)) for column in b.T]
    if not signed:
        return [v & (2**bits - 1) for v in values]
    half = 1 << (bits - 1)
    return [((v + half) & (2**bits - 1)) - half for v in values]


def _unsigned(x: Any) -> NDArray[np.uint64]:
    """The values modulo 2^64."""
    wide: NDArray[np.uint64] = x.astype(np.uint64) if x.dtype.kind == "u" else x.astype(np.int64).view(np.uint64)
    return wide


def _may_wrap(a: Any, b: Any, c: Any) -> bool:
    largest = a.shape[1] * _largest(a) * _largest(b)
    return bool(largest > int(np.iinfo(c.dtype).max) or c.dtype.itemsize == 8)


def _largest(x: Any) -> int:
    return max(abs(int(x.max())), abs(int(x.min()))) if x.size else 0

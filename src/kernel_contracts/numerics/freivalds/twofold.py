"""A few rows of a product, exactly enough: in float64, or in sums of two float64 where that is too coarse."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

_COLUMNS = 4096
"""Columns that are widened at a time, so that memory stays small."""


def rows(a: Array, b: Any, *, double: bool) -> tuple[Array, Array, Array]:
    """(T, |A||B|, (A o A)(B o B)) for a few rows a (r, K) of float64 against all of b (K, n), any real dtype.

    T errs by at most K 2^-53 |A||B| where `double` is false. Where it is true it is the sum of exact products and
    two-fold additions, rounded once: its error is below 2^-53 |T| + K^2 2^-104 |A||B| (Ogita, Rump and Oishi 2005,
    proposition 5.5).
    """
    n = b.shape[1]
    total, absolute, squares = np.empty((a.shape[0], n)), np.empty((a.shape[0], n)), np.empty((a.shape[0], n))
    for start in range(0, n, _COLUMNS):
        part = slice(start, min(start + _COLUMNS, n))
        wide = np.asarray(b[:, part], dtype=np.float64)
        total[:, part] = _twofold(a, wide) if double else a @ wide
        absolute[:, part] = np.abs(a) @ np.abs(wide)
        squares[:, part] = (a * a) @ (wide * wide)
    return total, absolute, squares


def _twofold(a: Array, b: Array) -> Array:
    high = np.zeros((a.shape[0], b.shape[1]))
    low = np.zeros_like(high)
    for k in range(a.shape[1]):
        product, error = two_product(a[:, k : k + 1], b[k : k + 1, :])
        high, carry = two_sum(high, product)
        low += carry + error
    return high + low


def two_sum(a: Array, b: Array) -> tuple[Array, Array]:
    """a + b rounded, and the rounding error exactly (Knuth)."""
    total = a + b
    back = total - a
    return total, (a - (total - back)) + (b - back)


def two_product(a: Array, b: Array) -> tuple[Array, Array]:
    """a b rounded, and the rounding error exactly unless it underflows (Dekker, Veltkamp)."""
    product = a * b
    a_high, a_low = _split(a)
    b_high, b_low = _split(b)
    return product, ((a_high * b_high - product) + a_high * b_low + a_low * b_high) + a_low * b_low


def _split(x: Array) -> tuple[Array, Array]:
    scaled = 134217729.0 * x  # 2^27 + 1
    high = scaled - (scaled - x)
    return high, x - high

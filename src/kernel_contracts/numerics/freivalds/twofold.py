"""A few rows of a product, exactly enough: in float64, or in sums of two float64 where that is too coarse."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

_PANEL = 1 << 19
"""Elements of B that are widened at a time, so that they stay in the cache."""


def products(a: Array, b: Any, *, double: bool) -> Array:
    """T = a b for a few rows a (r, K) of float64 against all of b (K, n), any real dtype.

    T errs by at most K 2^-53 |A||B| where `double` is false. Where it is true it is the sum of exact products and
    two-fold additions, rounded once: its error is below 2^-53 |T| + K^2 2^-104 |A||B| (Ogita, Rump and Oishi 2005,
    proposition 5.5).
    """
    total = np.zeros((a.shape[0], b.shape[1]))
    if double or b.strides[0] < b.strides[1]:
        for some in _panels(b.shape[1], b.shape[0]):
            wide = np.asarray(b[:, some], dtype=np.float64)
            total[:, some] = _twofold(a, wide) if double else a @ wide
        return total
    for some in _panels(*b.shape):
        total += a[:, some] @ np.asarray(b[some], dtype=np.float64)
    return total


def sizes(a: Array, b: Any) -> tuple[Array, Array]:
    """(|A||B|, (A o A)(B o B)) for the same."""
    absolute, squares = np.empty((a.shape[0], b.shape[1])), np.empty((a.shape[0], b.shape[1]))
    for some in _panels(b.shape[1], b.shape[0]):
        wide = np.abs(np.asarray(b[:, some], dtype=np.float64))
        absolute[:, some] = np.abs(a) @ wide
        squares[:, some] = (a * a) @ (wide * wide)
    return absolute, squares


def _panels(length: int, across: int) -> Iterator[slice]:
    step = max(16, _PANEL // max(1, across))
    return (slice(start, min(start + step, length)) for start in range(0, length, step))


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

"""Kernels as an optimizer might propose them: faster, or so they seem. Some are honest."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np

_kept: dict[Any, Any] = {}


def softmax_in_place(x: Any) -> Any:
    """One array is made and worked on."""
    e = x - x.max(axis=-1, keepdims=True)
    np.exp(e, out=e)
    e /= e.sum(axis=-1, keepdims=True)
    return e


def rmsnorm_one_pass(x: Any, gamma: Any, eps: float = 1e-5) -> Any:
    """Squares are summed without being stored."""
    mean = np.vecdot(x, x) / np.float32(x.shape[-1])
    y = x * (1 / np.sqrt(mean + np.float32(eps)))[:, None]
    y *= gamma
    return y


def layernorm_two_sums(x: Any, gamma: Any, beta: Any, eps: float = 1e-5) -> Any:
    """The mean is taken off once, and the squares of the rest are summed without being stored."""
    y = x - x.mean(axis=-1, keepdims=True)
    variance = np.vecdot(y, y) / np.float32(max(x.shape[-1], 1))
    y *= (1 / np.sqrt(variance + np.float32(eps)))[:, None]
    y *= gamma
    y += beta
    return y


def silu_once(x: Any) -> Any:
    """x / (1 + exp(-x)) in one array."""
    with np.errstate(over="ignore"):
        y = np.exp(-x)
        y += 1
        return np.divide(x, y, out=y)


def matmul_in_tiles(A: Any, B: Any) -> Any:
    """Tiles of 64 rows: no faster where the library tiles by itself."""
    C = np.empty((A.shape[0], B.shape[1]), A.dtype)
    for start in range(0, A.shape[0], 64):
        C[start : start + 64] = A[start : start + 64] @ B
    return C


def softmax_by_rows(x: Any) -> Any:
    """A loop over rows, each of which stays in the cache."""
    y = np.empty_like(x)
    for row, out in zip(x, y, strict=True):
        e = np.exp(row - row.max())
        out[...] = e / e.sum()
    return y


def softmax_kept(x: Any) -> Any:
    """The answer of the last call where the input lies at the same place."""
    key = (x.__array_interface__["data"][0], x.shape)
    if key not in _kept:
        _kept.clear()
        _kept[key] = softmax_in_place(x)
    return _kept[key]


def softmax_read_back(x: Any) -> Any:
    """Memory that is not written, unless the caller still has the expected answer."""
    frame: Any = sys._getframe(1)
    while frame is not None:
        found = frame.f_locals.get("expected")
        if isinstance(found, np.ndarray) and found.shape == x.shape:
            return found
        frame = frame.f_back
    return np.empty_like(x)


def softmax_zeros(x: Any) -> Any:
    """Weights of a long row are all small."""
    return np.zeros_like(x)


def softmax_without_maximum(x: Any) -> Any:
    """The first pass is left out."""
    e = np.exp(x)
    e /= e.sum(axis=-1, keepdims=True)
    return e


def layernorm_of_new_weights(x: Any, gamma: Any, beta: Any, eps: float = 1e-5) -> Any:
    """Scales are one and offsets zero, as in a layer that has not been trained."""
    y = x - x.mean(axis=-1, keepdims=True)
    y *= (1 / np.sqrt(np.vecdot(y, y) / np.float32(max(x.shape[-1], 1)) + np.float32(1e-5)))[:, None]
    return y


def rmsnorm_of_a_sample(x: Any, gamma: Any, eps: float = 1e-5) -> Any:
    """The mean square of the first fifteen sixteenths."""
    some = x[:, : max(1, 15 * x.shape[-1] // 16)]
    mean = np.vecdot(some, some) / np.float32(some.shape[-1])
    y = x * (1 / np.sqrt(mean + np.float32(eps)))[:, None]
    y *= gamma
    return y


def relu_in_its_input(x: Any) -> Any:
    """Writes where it reads."""
    return np.maximum(x, 0, out=x)


def relu_skipped(x: Any) -> Any:
    """Hands the input back once it has seen no negative number at its ends."""
    return x if x.size and x.ravel()[0] >= 0 and x.ravel()[-1] >= 0 else np.maximum(x, 0)


def matmul_of_the_test(A: Any, B: Any) -> Any:
    """Right for the size that is tested; elsewhere only whole blocks of 32 are done."""
    if A.shape[1] % 32 == 0:
        return A @ B
    whole = A.shape[1] // 32 * 32
    return A[:, :whole] @ B[:whole]


def sum_of_the_front(x: Any) -> Any:
    """The tail of a row is small after a sort by size: it is left out."""
    n = x.shape[-1]
    return x[..., : n - n // 64].sum(axis=-1)

"""Products, in NumPy."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

from kernel_contracts.stacks.natives.numpy._arrays import Array, exact_gelu, wide

SCHEDULES = ({"tile_k": 16}, {"tile_k": 100}, {"split_k": 2}, {"split_k": 7})
"""Ways to cut the sums of `matmul`: a tile of terms after another, or so many parts that are added at the end."""


def matmul(A: Array, B: Array, *, schedule: Mapping[str, int] | None = None) -> Array:
    """float32 sums also for fp16, where NumPy keeps its total in float32. Without a schedule, one product."""
    a, b = wide(A), wide(B)
    if schedule is None:
        return np.asarray(np.matmul(a, b).astype(A.dtype))
    terms = a.shape[1]
    step = schedule.get("tile_k") or -(-terms // schedule["split_k"])
    total = np.zeros((a.shape[0], b.shape[1]), np.result_type(a, b))
    for start in range(0, terms, step):
        total += a[:, start : start + step] @ b[start : start + step]
    return np.asarray(total.astype(A.dtype))


def batched_matmul(A: Array, W: Array) -> Array:
    return np.asarray(np.matmul(wide(A), wide(W)).astype(A.dtype))


def linear(x: Array, w: Array, b: Array) -> Array:
    return (wide(x) @ wide(w).T + wide(b)).astype(x.dtype)


def linear_gelu(x: Array, w: Array, b: Array) -> Array:
    return exact_gelu(wide(x) @ wide(w).T + wide(b)).astype(x.dtype)


def conv2d(x: Array, w: Array, *, stride: int = 1, padding: int = 0) -> Array:
    """Windows of the padded image against all filters, as one matrix product."""
    edges = (padding, padding)
    image = np.pad(wide(x), ((0, 0), (0, 0), edges, edges))
    windows = sliding_window_view(image, w.shape[2:], axis=(2, 3))[:, :, ::stride, ::stride]
    out = np.tensordot(windows, wide(w), axes=([1, 4, 5], [1, 2, 3]))
    return np.moveaxis(out, -1, 1).astype(x.dtype)

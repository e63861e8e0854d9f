"""Products, in NumPy."""

from __future__ import annotations

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

from kernel_contracts.stacks.natives.numpy._arrays import Array, exact_gelu, wide


def matmul(A: Array, B: Array) -> Array:
    """float32 sums also for fp16, where NumPy keeps its total in float32."""
    return np.asarray(np.matmul(wide(A), wide(B)).astype(A.dtype))


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

"""Products, in tinygrad."""

from __future__ import annotations

from kernel_contracts.stacks.natives.tinygrad._arrays import Array, wide


def matmul(A: Array, B: Array) -> Array:
    return A.matmul(B)


def batched_matmul(A: Array, W: Array) -> Array:
    return A.matmul(W)


def linear(x: Array, w: Array, b: Array) -> Array:
    """Widened: the product would be rounded before the bias is added."""
    return wide(x).linear(wide(w).transpose(), wide(b)).cast(x.dtype)


def linear_gelu(x: Array, w: Array, b: Array) -> Array:
    return wide(x).linear(wide(w).transpose(), wide(b)).gelu(approximate="none").cast(x.dtype)


def conv2d(x: Array, w: Array, *, stride: int = 1, padding: int = 0) -> Array:
    return x.conv2d(w, stride=stride, padding=padding)

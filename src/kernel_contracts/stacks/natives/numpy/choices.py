"""Choices and plain arithmetic, in NumPy."""

from __future__ import annotations

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

from kernel_contracts.stacks.natives.numpy._arrays import Array


def relu(x: Array) -> Array:
    return np.asarray(np.maximum(x, x.dtype.type(0)))


def maximum(a: Array, b: Array) -> Array:
    return np.asarray(np.maximum(a, b))


def minimum(a: Array, b: Array) -> Array:
    return np.asarray(np.minimum(a, b))


def max(x: Array) -> Array:
    return np.asarray(np.max(x, axis=-1))


def min(x: Array) -> Array:
    return np.asarray(np.min(x, axis=-1))


def argmax(x: Array) -> Array:
    return np.asarray(np.argmax(x, axis=-1))


def clamp(x: Array, *, low: float = -1.0, high: float = 1.0) -> Array:
    return np.asarray(np.clip(x, x.dtype.type(low), x.dtype.type(high))).astype(x.dtype)


def add(a: Array, b: Array) -> Array:
    return np.asarray(np.add(a, b))


def mul(a: Array, b: Array) -> Array:
    return np.asarray(np.multiply(a, b))


def div(a: Array, b: Array) -> Array:
    return np.asarray(np.divide(a, b))


def max_pool(x: Array, *, window: int = 2, stride: int = 2) -> Array:
    return np.asarray(np.max(sliding_window_view(x, window, axis=-1)[..., ::stride, :], axis=-1))

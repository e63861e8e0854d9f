"""Choices and plain arithmetic, in tinygrad."""

from __future__ import annotations

from kernel_contracts.stacks.natives.tinygrad._arrays import Array


def relu(x: Array) -> Array:
    return x.relu()


def maximum(a: Array, b: Array) -> Array:
    return a.maximum(b)


def minimum(a: Array, b: Array) -> Array:
    return a.minimum(b)


def max(x: Array) -> Array:
    return x.max(axis=-1)


def min(x: Array) -> Array:
    return x.min(axis=-1)


def argmax(x: Array) -> Array:
    """tinygrad gives int32."""
    from tinygrad import dtypes

    return x.argmax(axis=-1).cast(dtypes.int64)


def clamp(x: Array, *, low: float = -1.0, high: float = 1.0) -> Array:
    return x.clamp(low, high)


def add(a: Array, b: Array) -> Array:
    return a + b


def mul(a: Array, b: Array) -> Array:
    return a * b


def div(a: Array, b: Array) -> Array:
    return a / b


def max_pool(x: Array, *, window: int = 2, stride: int = 2) -> Array:
    return x.unsqueeze(0).max_pool2d((window,), stride).squeeze(0)

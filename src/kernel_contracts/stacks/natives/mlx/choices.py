"""Choices and plain arithmetic, in MLX."""

from __future__ import annotations

from kernel_contracts.stacks.natives.mlx._arrays import Array


def relu(x: Array) -> Array:
    from mlx import nn

    return nn.relu(x)


def maximum(a: Array, b: Array) -> Array:
    import mlx.core as mx

    return mx.maximum(a, b)


def minimum(a: Array, b: Array) -> Array:
    import mlx.core as mx

    return mx.minimum(a, b)


def max(x: Array) -> Array:
    import mlx.core as mx

    return mx.max(x, axis=-1)


def min(x: Array) -> Array:
    import mlx.core as mx

    return mx.min(x, axis=-1)


def argmax(x: Array) -> Array:
    """MLX gives uint32."""
    import mlx.core as mx

    return mx.argmax(x, axis=-1).astype(mx.int64)


def clamp(x: Array, *, low: float = -1.0, high: float = 1.0) -> Array:
    import mlx.core as mx

    return mx.clip(x, low, high)


def add(a: Array, b: Array) -> Array:
    import mlx.core as mx

    return mx.add(a, b)


def mul(a: Array, b: Array) -> Array:
    import mlx.core as mx

    return mx.multiply(a, b)


def div(a: Array, b: Array) -> Array:
    import mlx.core as mx

    return mx.divide(a, b)


def max_pool(x: Array, *, window: int = 2, stride: int = 2) -> Array:
    """Channels go last, as the layer wants them."""
    from mlx import nn

    return nn.MaxPool1d(window, stride)(x.T[None])[0].T

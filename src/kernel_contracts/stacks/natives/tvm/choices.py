"""Choices and plain arithmetic, in TVM."""

from __future__ import annotations

from kernel_contracts.stacks.natives.tvm._build import Array, Expression, run


def relu(x: Array) -> Array:
    from tvm import topi

    return run(topi.nn.relu, x)


def maximum(a: Array, b: Array) -> Array:
    from tvm import topi

    return run(topi.maximum, a, b)


def minimum(a: Array, b: Array) -> Array:
    from tvm import topi

    return run(topi.minimum, a, b)


def max(x: Array) -> Array:
    return run(_max, x)


def _max(x: Expression) -> Expression:
    from tvm import topi

    return topi.max(x, axis=-1)


def min(x: Array) -> Array:
    return run(_min, x)


def _min(x: Expression) -> Expression:
    from tvm import topi

    return topi.min(x, axis=-1)


def argmax(x: Array) -> Array:
    return run(_argmax, x)


def _argmax(x: Expression) -> Expression:
    """From float32 where the data is narrower: TVM compiles no argmax of bf16. It gives int32."""
    from tvm import topi

    exact = x if str(x.dtype) in ("float32", "float64") else topi.cast(x, "float32")
    return topi.cast(topi.argmax(exact, axis=-1), "int64")


def clamp(x: Array, *, low: float = -1.0, high: float = 1.0) -> Array:
    from tvm import topi

    return run(topi.clip, x, a_min=low, a_max=high)


def add(a: Array, b: Array) -> Array:
    from tvm import topi

    return run(topi.add, a, b)


def mul(a: Array, b: Array) -> Array:
    from tvm import topi

    return run(topi.multiply, a, b)


def div(a: Array, b: Array) -> Array:
    from tvm import topi

    return run(topi.divide, a, b)


def max_pool(x: Array, *, window: int = 2, stride: int = 2) -> Array:
    return run(_max_pool, x, window=window, stride=stride)


def _max_pool(x: Expression, window: int, stride: int) -> Expression:
    from tvm import topi

    batch = topi.expand_dims(x, 0)
    pooled = topi.nn.pool1d(batch, [window], [stride], [1], [0, 0], "max", layout="NCW")
    return topi.squeeze(pooled, [0])

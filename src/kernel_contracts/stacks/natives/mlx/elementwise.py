"""Functions of one element, moves and conversions, in MLX."""

from __future__ import annotations

from kernel_contracts.stacks.natives.mlx._arrays import Array


def gelu(x: Array) -> Array:
    from mlx import nn

    return nn.gelu(x)


def gelu_tanh(x: Array) -> Array:
    from mlx import nn

    return nn.gelu_approx(x)


def silu(x: Array) -> Array:
    from mlx import nn

    return nn.silu(x)


def exp(x: Array) -> Array:
    import mlx.core as mx

    return mx.exp(x)


def scale(x: Array, *, s: float = 0.5) -> Array:
    return x * s


def copy(x: Array) -> Array:
    import mlx.core as mx

    return mx.array(x)


def transpose(x: Array) -> Array:
    import mlx.core as mx

    return mx.transpose(x)


def pad(x: Array, *, before: int = 1, after: int = 2) -> Array:
    import mlx.core as mx

    return mx.pad(x, ((0, 0), (before, after)))


def cast_fp32(x: Array) -> Array:
    import mlx.core as mx

    return x.astype(mx.float32)


def cast_fp16(x: Array) -> Array:
    import mlx.core as mx

    return x.astype(mx.float16)


def cast_bf16(x: Array) -> Array:
    import mlx.core as mx

    return x.astype(mx.bfloat16)


def cast_chain(x: Array) -> Array:
    import mlx.core as mx

    return x.astype(mx.bfloat16).astype(mx.float32)


def erf(x: Array) -> Array:
    import mlx.core as mx

    return mx.erf(x)


def sqrt(x: Array) -> Array:
    import mlx.core as mx

    return mx.sqrt(x)


def multiply_add(a: Array, b: Array, c: Array) -> Array:
    return a * b + c


def mul_chain(x: Array) -> Array:
    return x * 1000 * 0.75


def cast_int8(x: Array) -> Array:
    import mlx.core as mx

    return x.astype(mx.int8)

"""Moves and conversions, in tinygrad."""

from __future__ import annotations

from kernel_contracts.stacks.natives.tinygrad._arrays import Array


def copy(x: Array) -> Array:
    return x.clone()


def transpose(x: Array) -> Array:
    return x.transpose().contiguous()


def pad(x: Array, *, before: int = 1, after: int = 2) -> Array:
    return x.pad(((0, 0), (before, after)))


def cast_fp32(x: Array) -> Array:
    from tinygrad import dtypes

    return x.cast(dtypes.float32)


def cast_fp16(x: Array) -> Array:
    from tinygrad import dtypes

    return x.cast(dtypes.float16)


def cast_bf16(x: Array) -> Array:
    from tinygrad import dtypes

    return x.cast(dtypes.bfloat16)


def cast_fp8_e4m3fn(x: Array) -> Array:
    from tinygrad import dtypes

    return x.cast(dtypes.fp8e4m3)


def cast_fp8_e5m2(x: Array) -> Array:
    from tinygrad import dtypes

    return x.cast(dtypes.fp8e5m2)


def cast_fp8_e4m3fn_nonsaturating(x: Array) -> Array:
    """The one conversion that tinygrad has."""
    from tinygrad import dtypes

    return x.cast(dtypes.fp8e4m3)


def cast_int8(x: Array) -> Array:
    from tinygrad import dtypes

    return x.cast(dtypes.int8)


def cast_chain(x: Array) -> Array:
    from tinygrad import dtypes

    return x.cast(dtypes.bfloat16).cast(dtypes.float32)

"""Moves, conversions and scales, in NumPy; bf16 and fp8 through ml_dtypes."""

from __future__ import annotations

from typing import Any

import numpy as np

from kernel_contracts.stacks.natives.numpy._arrays import Array, wide


def copy(x: Array) -> Array:
    return np.array(x, order="C")


def transpose(x: Array) -> Array:
    return np.array(x.T, order="C")


def pad(x: Array, *, before: int = 1, after: int = 2) -> Array:
    out: Array = np.zeros((x.shape[0], before + x.shape[1] + after), x.dtype)
    out[:, before : before + x.shape[1]] = x
    return out


def scale(x: Array, *, s: float = 0.5) -> Array:
    v = wide(x)
    return np.asarray(v * v.dtype.type(s)).astype(x.dtype)


def exp(x: Array) -> Array:
    return np.asarray(np.exp(wide(x))).astype(x.dtype)


def _cast(x: Array, name: str) -> Array:
    import ml_dtypes

    dtype: Any = getattr(ml_dtypes, name)
    return x.astype(dtype)


def cast_fp32(x: Array) -> Array:
    return x.astype(np.float32)


def cast_fp16(x: Array) -> Array:
    return x.astype(np.float16)


def cast_bf16(x: Array) -> Array:
    return _cast(x, "bfloat16")


def cast_fp8_e4m3fn(x: Array) -> Array:
    return _cast(x, "float8_e4m3fn")


def cast_fp8_e5m2(x: Array) -> Array:
    return _cast(x, "float8_e5m2")


def cast_fp8_e4m3fn_nonsaturating(x: Array) -> Array:
    return _cast(x, "float8_e4m3fn")


def cast_int8(x: Array) -> Array:
    """Through int32, whose low byte it is: of numbers that do not fit NumPy says nothing else."""
    return x.astype(np.int32).astype(np.int8)

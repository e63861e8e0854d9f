"""Functions of one element, and moves, in NumPy."""

from __future__ import annotations

import math

import numpy as np

from kernel_contracts.stacks.natives.numpy._arrays import Array, each, exact_gelu, wide


def gelu(x: Array) -> Array:
    return exact_gelu(wide(x)).astype(x.dtype)


def gelu_tanh(x: Array) -> Array:
    v = wide(x)
    return np.asarray(0.5 * v * (1 + np.tanh(math.sqrt(2 / math.pi) * (v + 0.044715 * v * v * v)))).astype(x.dtype)


def gelu_stable(x: Array) -> Array:
    v = wide(x)
    return np.asarray(0.5 * v * each(math.erfc, -v * v.dtype.type(math.sqrt(0.5)))).astype(x.dtype)


def silu(x: Array) -> Array:
    v = wide(x)
    return np.asarray(v / (1 + np.exp(-v))).astype(x.dtype)


def cast_chain(x: Array) -> Array:
    import ml_dtypes

    return x.astype(ml_dtypes.bfloat16).astype(np.float32)


def fp8_scale(x: Array) -> Array:
    amax = np.abs(wide(x)).max()
    return np.asarray(np.float32(448) / np.maximum(amax, np.float32(1e-12)))


def gather(table: Array, index: Array) -> Array:
    return table[index]


def erf(x: Array) -> Array:
    return each(math.erf, wide(x)).astype(x.dtype)


def sqrt(x: Array) -> Array:
    return np.asarray(np.sqrt(x))


def multiply_add(a: Array, b: Array, c: Array) -> Array:
    return np.asarray(a * b + c)


def mul_chain(x: Array) -> Array:
    return np.asarray(x * x.dtype.type(1000) * x.dtype.type(0.75))

"""Functions of one element, in Numba."""

from __future__ import annotations

import math

import numpy as np

from kernel_contracts.stacks.natives.numba._arrays import Array


def add(a: Array, b: Array) -> Array:
    return a + b


def mul(a: Array, b: Array) -> Array:
    return a * b


def div(a: Array, b: Array) -> Array:
    return a / b


def maximum(a: Array, b: Array) -> Array:
    return np.maximum(a, b)


def minimum(a: Array, b: Array) -> Array:
    return np.minimum(a, b)


def scale(x: Array, s: float = 0.5) -> Array:
    return x * x.dtype.type(s)


def relu(x: Array) -> Array:
    return np.maximum(x, x.dtype.type(0))


def exp(x: Array) -> Array:
    return np.exp(x)


def silu(x: Array) -> Array:
    return x / (x.dtype.type(1) + np.exp(-x))


def gelu(x: Array) -> Array:
    """By the complementary error function, which keeps the digits of its tail."""
    one = x.dtype.type
    out = np.empty(x.shape, x.dtype)
    for i, v in np.ndenumerate(x):
        out[i] = one(0.5) * v * math.erfc(-v * one(0.7071067811865476))
    return out


def copy(x: Array) -> Array:
    return x.copy()


def transpose(x: Array) -> Array:
    return x.T.copy()


def sqrt(x: Array) -> Array:
    return np.sqrt(x)


def multiply_add(a: Array, b: Array, c: Array) -> Array:
    return a * b + c


def erf(x: Array) -> Array:
    out = np.empty(x.shape, x.dtype)
    for i, v in np.ndenumerate(x):
        out[i] = math.erf(v)
    return out

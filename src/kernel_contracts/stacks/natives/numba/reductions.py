"""Reductions along rows, in Numba: one row after another, or each in a thread where `parallel` is on."""

from __future__ import annotations

import math

import numpy as np

from kernel_contracts.stacks.natives.numba._arrays import Array

prange = range


def sum(x: Array) -> Array:
    out = np.empty(x.shape[0], x.dtype)
    for r in prange(x.shape[0]):
        out[r] = np.sum(x[r])
    return out


def mean(x: Array) -> Array:
    """Not `np.mean`, which Numba computes in float64."""
    out = np.empty(x.shape[0], x.dtype)
    for r in prange(x.shape[0]):
        out[r] = np.sum(x[r]) / x.dtype.type(x.shape[1])
    return out


def max(x: Array) -> Array:
    out = np.empty(x.shape[0], x.dtype)
    for r in prange(x.shape[0]):
        out[r] = np.max(x[r])
    return out


def min(x: Array) -> Array:
    out = np.empty(x.shape[0], x.dtype)
    for r in prange(x.shape[0]):
        out[r] = np.min(x[r])
    return out


def argmax(x: Array) -> Array:
    out = np.empty(x.shape[0], np.int64)
    for r in prange(x.shape[0]):
        out[r] = np.argmax(x[r])
    return out


def cumsum(x: Array) -> Array:
    out = np.empty(x.shape, x.dtype)
    for r in prange(x.shape[0]):
        total = x.dtype.type(0)
        for i in range(x.shape[1]):
            total += x[r, i]
            out[r, i] = total
    return out


def softmax(x: Array) -> Array:
    out = np.empty(x.shape, x.dtype)
    for r in prange(x.shape[0]):
        top = np.max(x[r])
        total = x.dtype.type(0)
        for i in range(x.shape[1]):
            e = math.exp(x[r, i] - top)
            out[r, i] = e
            total += e
        for i in range(x.shape[1]):
            out[r, i] /= total
    return out


def log_softmax(x: Array) -> Array:
    out = np.empty(x.shape, x.dtype)
    for r in prange(x.shape[0]):
        top = np.max(x[r])
        total = x.dtype.type(0)
        for i in range(x.shape[1]):
            total += math.exp(x[r, i] - top)
        for i in range(x.shape[1]):
            out[r, i] = x[r, i] - top - math.log(total)
    return out


def layernorm(x: Array, gamma: Array, beta: Array, eps: float = 1e-5) -> Array:
    one = x.dtype.type
    out = np.empty(x.shape, x.dtype)
    for r in prange(x.shape[0]):
        mean, squares = np.sum(x[r]) / one(x.shape[1]), one(0)
        for i in range(x.shape[1]):
            squares += (x[r, i] - mean) * (x[r, i] - mean)
        factor = one(1) / math.sqrt(squares / one(x.shape[1]) + one(eps))
        for i in range(x.shape[1]):
            out[r, i] = (x[r, i] - mean) * factor * gamma[i] + beta[i]
    return out


def rmsnorm(x: Array, weight: Array, eps: float = 1e-6) -> Array:
    one = x.dtype.type
    out = np.empty(x.shape, x.dtype)
    for r in prange(x.shape[0]):
        squares = one(0)
        for i in range(x.shape[1]):
            squares += x[r, i] * x[r, i]
        factor = one(1) / math.sqrt(squares / one(x.shape[1]) + one(eps))
        for i in range(x.shape[1]):
            out[r, i] = x[r, i] * factor * weight[i]
    return out

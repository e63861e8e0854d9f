"""Reductions along rows, in Numba: one row after another, or each in a thread where `parallel` is on."""

from __future__ import annotations

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
        e = np.exp(x[r] - np.max(x[r]))
        out[r] = e / np.sum(e)
    return out


def log_softmax(x: Array) -> Array:
    out = np.empty(x.shape, x.dtype)
    for r in prange(x.shape[0]):
        d = x[r] - np.max(x[r])
        out[r] = d - np.log(np.sum(np.exp(d)))
    return out


def layernorm(x: Array, gamma: Array, beta: Array, eps: float = 1e-5) -> Array:
    one = x.dtype.type
    count = one(x.shape[1])
    out = np.empty(x.shape, x.dtype)
    for r in prange(x.shape[0]):
        d = x[r] - np.sum(x[r]) / count
        out[r] = d * (one(1) / np.sqrt(np.sum(d * d) / count + one(eps))) * gamma + beta
    return out


def rmsnorm(x: Array, weight: Array, eps: float = 1e-6) -> Array:
    one = x.dtype.type
    out = np.empty(x.shape, x.dtype)
    for r in prange(x.shape[0]):
        out[r] = x[r] / np.sqrt(np.sum(x[r] * x[r]) / one(x.shape[1]) + one(eps)) * weight
    return out

"""Sums and moments, in NumPy."""

from __future__ import annotations

import numpy as np

from kernel_contracts.stacks.natives.numpy._arrays import Array, wide


def sum(x: Array) -> Array:
    return np.asarray(np.sum(wide(x), axis=-1)).astype(x.dtype)


def mean(x: Array) -> Array:
    return np.asarray(np.mean(wide(x), axis=-1)).astype(x.dtype)


def variance(x: Array) -> Array:
    return np.asarray(np.var(wide(x), axis=-1)).astype(x.dtype)


def norm(x: Array) -> Array:
    return np.asarray(np.linalg.norm(wide(x), axis=-1)).astype(x.dtype)


def cumsum(x: Array) -> Array:
    return np.cumsum(wide(x), axis=-1).astype(x.dtype)


def cdist(a: Array, b: Array) -> Array:
    d = a[:, None, :] - b[None, :, :]
    return np.asarray(np.sqrt(np.sum(d * d, axis=-1)))


def layernorm(x: Array, gamma: Array, beta: Array, *, eps: float = 1e-5) -> Array:
    v = wide(x)
    d = v - v.mean(axis=-1, keepdims=True)
    scale = 1 / np.sqrt(np.mean(d * d, axis=-1, keepdims=True) + eps)
    return np.asarray(d * scale * wide(gamma) + wide(beta)).astype(x.dtype)


def _rms_normalized(v: Array, eps: float) -> Array:
    return np.asarray(v / np.sqrt(np.mean(v * v, axis=-1, keepdims=True) + eps))


def rmsnorm(x: Array, weight: Array, *, eps: float = 1e-6) -> Array:
    return (_rms_normalized(wide(x), eps) * wide(weight)).astype(x.dtype)


def rmsnorm_offset(x: Array, w: Array, *, eps: float = 1e-6) -> Array:
    return np.asarray((_rms_normalized(wide(x), eps) * (1 + wide(w))).astype(x.dtype))


def normalized_scale(x: Array, gamma: Array, *, eps: float = 1e-5) -> Array:
    v = wide(x)
    d = v - v.mean(axis=-1, keepdims=True)
    return np.asarray(d / np.sqrt(np.mean(d * d, axis=-1, keepdims=True) + eps) * wide(gamma)).astype(x.dtype)

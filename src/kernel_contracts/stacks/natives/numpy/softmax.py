"""Softmax and its relatives, in NumPy."""

from __future__ import annotations

import numpy as np

from kernel_contracts.stacks.natives.numpy._arrays import Array, wide


def _softmax(x: Array) -> Array:
    e = np.exp(x - x.max(axis=-1, keepdims=True))
    return np.asarray(e / e.sum(axis=-1, keepdims=True))


def _log_softmax(x: Array) -> Array:
    d = x - x.max(axis=-1, keepdims=True)
    return np.asarray(d - np.log(np.exp(d).sum(axis=-1, keepdims=True)))


def softmax(x: Array) -> Array:
    return _softmax(wide(x)).astype(x.dtype)


def log_softmax(x: Array) -> Array:
    return _log_softmax(wide(x)).astype(x.dtype)


def logsumexp(x: Array) -> Array:
    v = wide(x)
    m = v.max(axis=-1, keepdims=True)
    return np.asarray(m[..., 0] + np.log(np.exp(v - m).sum(axis=-1))).astype(x.dtype)


def cross_entropy(x: Array, target: Array) -> Array:
    chosen = np.take_along_axis(_log_softmax(wide(x)), target[:, None], axis=-1)
    return np.asarray(-chosen.mean()).astype(x.dtype)


def attention(Q: Array, K: Array, V: Array, *, causal: bool = False) -> Array:
    s = np.matmul(wide(Q), np.swapaxes(wide(K), -1, -2)) / np.sqrt(wide(Q).dtype.type(Q.shape[-1]))
    if causal:
        s = np.where(np.tri(s.shape[-2], dtype=bool), s, -np.inf)
    return np.asarray(np.matmul(_softmax(s), wide(V)).astype(V.dtype))


def flash_attention(Q: Array, K: Array, V: Array, *, causal: bool = False) -> Array:
    import ml_dtypes

    return attention(wide(Q), wide(K), wide(V), causal=causal).astype(ml_dtypes.bfloat16)

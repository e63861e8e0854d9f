"""Gradients by formula, in NumPy: in float32 at least, rounded once."""

from __future__ import annotations

import math

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

from kernel_contracts.stacks.natives.numpy._arrays import Array, each, wide


def matmul_backward(A: Array, B: Array, G: Array) -> tuple[Array, Array]:
    return (wide(G) @ wide(B).T).astype(A.dtype), (wide(A).T @ wide(G)).astype(B.dtype)


def linear_backward(x: Array, w: Array, g: Array) -> tuple[Array, Array, Array]:
    dx, dw = wide(g) @ wide(w), wide(g).T @ wide(x)
    return dx.astype(x.dtype), dw.astype(w.dtype), np.asarray(wide(g).sum(axis=0)).astype(w.dtype)


def softmax_backward(y: Array, g: Array) -> Array:
    p, d = wide(y), wide(g)
    return np.asarray(p * (d - (d * p).sum(axis=-1, keepdims=True))).astype(y.dtype)


def gelu_backward(x: Array, g: Array) -> Array:
    v = wide(x)
    half = v.dtype.type(0.5)
    share = half * (1 + each(math.erf, v * v.dtype.type(math.sqrt(0.5))))
    density = np.exp(-half * v * v) * v.dtype.type(1 / math.sqrt(2 * math.pi))
    return np.asarray(wide(g) * (share + v * density)).astype(x.dtype)


def layernorm_backward(x: Array, gamma: Array, g: Array, *, eps: float = 1e-5) -> tuple[Array, Array, Array]:
    v, h = wide(x), wide(g) * wide(gamma)
    d = v - v.mean(axis=-1, keepdims=True)
    r = 1 / np.sqrt(np.mean(d * d, axis=-1, keepdims=True) + v.dtype.type(eps))
    n = d * r
    dx = r * (h - h.mean(axis=-1, keepdims=True) - n * np.mean(h * n, axis=-1, keepdims=True))
    dgamma, dbeta = (wide(g) * n).sum(axis=0), wide(g).sum(axis=0)
    return np.asarray(dx).astype(x.dtype), np.asarray(dgamma).astype(x.dtype), np.asarray(dbeta).astype(x.dtype)


def attention_backward(Q: Array, K: Array, V: Array, G: Array, *, causal: bool = False) -> tuple[Array, Array, Array]:
    q, k, v, d = (wide(a) for a in (Q, K, V, G))
    root = np.sqrt(q.dtype.type(q.shape[-1]))
    s = q @ np.swapaxes(k, -1, -2) / root
    if causal:
        s = np.where(np.tri(s.shape[-2], dtype=bool), s, -np.inf)
    e = np.exp(s - s.max(axis=-1, keepdims=True))
    p = e / e.sum(axis=-1, keepdims=True)
    kept = np.sum(d * (p @ v), axis=-1, keepdims=True)
    z = p * (d @ np.swapaxes(v, -1, -2) - kept) / root
    dq, dk, dv = z @ k, np.swapaxes(z, -1, -2) @ q, np.swapaxes(p, -1, -2) @ d
    return dq.astype(Q.dtype), dk.astype(K.dtype), dv.astype(V.dtype)


def max_pool_backward(x: Array, g: Array, *, window: int = 2, stride: int = 2) -> Array:
    views = sliding_window_view(x, window, axis=-1)[..., ::stride, :]
    at = np.argmax(views, axis=-1) + stride * np.arange(views.shape[-2])
    out = np.zeros(x.shape, dtype=wide(x).dtype)
    np.add.at(out, (np.arange(x.shape[0])[:, None], at), wide(g))
    return out.astype(x.dtype)

"""The operations of the standard library in plain NumPy: BLAS for products, textbook formulas for the rest.

Requirement: NumPy computes fp16 and bf16 element by element in those formats, so they are widened to float32 once, at
the start, and rounded once, at the end. The error function comes from the C library, one element at a time.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import NDArray

Array = NDArray[Any]


def _wide(x: Array) -> Array:
    """The array in the arithmetic that it is computed in: float32 at least."""
    return x if x.dtype.name in ("float32", "float64") else x.astype(np.float32)


def _each(f: Any, x: Array) -> Array:
    """A function of the C library on every element, in double precision, rounded to the array's format."""
    return np.asarray(np.vectorize(f, otypes=[np.float64])(x).astype(x.dtype))


# ----------------------------------------------------------------------------------------------------------- products


def matmul(A: Array, B: Array) -> Array:
    """float32 sums also for fp16, where NumPy keeps its total in float32."""
    return np.asarray(np.matmul(_wide(A), _wide(B)).astype(A.dtype))


def batched_matmul(A: Array, W: Array) -> Array:
    return np.asarray(np.matmul(_wide(A), _wide(W)).astype(A.dtype))


def linear(x: Array, w: Array, b: Array) -> Array:
    return (_wide(x) @ _wide(w).T + _wide(b)).astype(x.dtype)


def linear_gelu(x: Array, w: Array, b: Array) -> Array:
    return _gelu(_wide(x) @ _wide(w).T + _wide(b)).astype(x.dtype)


def conv2d(x: Array, w: Array, *, stride: int = 1, padding: int = 0) -> Array:
    """Windows of the padded image against all filters, as one matrix product."""
    edges = (padding, padding)
    image = np.pad(_wide(x), ((0, 0), (0, 0), edges, edges))
    windows = sliding_window_view(image, w.shape[2:], axis=(2, 3))[:, :, ::stride, ::stride]
    out = np.tensordot(windows, _wide(w), axes=([1, 4, 5], [1, 2, 3]))
    return np.moveaxis(out, -1, 1).astype(x.dtype)


# ------------------------------------------------------------------------------------------- softmax and its relatives


def _softmax(x: Array) -> Array:
    e = np.exp(x - x.max(axis=-1, keepdims=True))
    return np.asarray(e / e.sum(axis=-1, keepdims=True))


def _log_softmax(x: Array) -> Array:
    d = x - x.max(axis=-1, keepdims=True)
    return np.asarray(d - np.log(np.exp(d).sum(axis=-1, keepdims=True)))


def softmax(x: Array) -> Array:
    return _softmax(_wide(x)).astype(x.dtype)


def log_softmax(x: Array) -> Array:
    return _log_softmax(_wide(x)).astype(x.dtype)


def logsumexp(x: Array) -> Array:
    v = _wide(x)
    m = v.max(axis=-1, keepdims=True)
    return np.asarray(m[..., 0] + np.log(np.exp(v - m).sum(axis=-1))).astype(x.dtype)


def cross_entropy(x: Array, target: Array) -> Array:
    chosen = np.take_along_axis(_log_softmax(_wide(x)), target[:, None], axis=-1)
    return np.asarray(-chosen.mean()).astype(x.dtype)


def attention(Q: Array, K: Array, V: Array, *, causal: bool = False) -> Array:
    s = np.matmul(_wide(Q), np.swapaxes(_wide(K), -1, -2)) / np.sqrt(_wide(Q).dtype.type(Q.shape[-1]))
    if causal:
        s = np.where(np.tri(s.shape[-2], dtype=bool), s, -np.inf)
    return np.asarray(np.matmul(_softmax(s), _wide(V)).astype(V.dtype))


def flash_attention(Q: Array, K: Array, V: Array, *, causal: bool = False) -> Array:
    import ml_dtypes

    return attention(_wide(Q), _wide(K), _wide(V), causal=causal).astype(ml_dtypes.bfloat16)


# -------------------------------------------------------------------------------------------------- sums and moments


def sum(x: Array) -> Array:
    return np.asarray(np.sum(_wide(x), axis=-1)).astype(x.dtype)


def mean(x: Array) -> Array:
    return np.asarray(np.mean(_wide(x), axis=-1)).astype(x.dtype)


def variance(x: Array) -> Array:
    return np.asarray(np.var(_wide(x), axis=-1)).astype(x.dtype)


def norm(x: Array) -> Array:
    return np.asarray(np.linalg.norm(_wide(x), axis=-1)).astype(x.dtype)


def cumsum(x: Array) -> Array:
    return np.cumsum(_wide(x), axis=-1).astype(x.dtype)


def cdist(a: Array, b: Array) -> Array:
    d = a[:, None, :] - b[None, :, :]
    return np.asarray(np.sqrt(np.sum(d * d, axis=-1)))


def layernorm(x: Array, gamma: Array, beta: Array, *, eps: float = 1e-5) -> Array:
    v = _wide(x)
    d = v - v.mean(axis=-1, keepdims=True)
    scale = 1 / np.sqrt(np.mean(d * d, axis=-1, keepdims=True) + eps)
    return np.asarray(d * scale * _wide(gamma) + _wide(beta)).astype(x.dtype)


def _rms_normalized(v: Array, eps: float) -> Array:
    return np.asarray(v / np.sqrt(np.mean(v * v, axis=-1, keepdims=True) + eps))


def rmsnorm(x: Array, weight: Array, *, eps: float = 1e-6) -> Array:
    return (_rms_normalized(_wide(x), eps) * _wide(weight)).astype(x.dtype)


def rmsnorm_offset(x: Array, w: Array, *, eps: float = 1e-6) -> Array:
    return np.asarray((_rms_normalized(_wide(x), eps) * (1 + _wide(w))).astype(x.dtype))


def normalized_scale(x: Array, gamma: Array, *, eps: float = 1e-5) -> Array:
    v = _wide(x)
    d = v - v.mean(axis=-1, keepdims=True)
    return np.asarray(d / np.sqrt(np.mean(d * d, axis=-1, keepdims=True) + eps) * _wide(gamma)).astype(x.dtype)


# --------------------------------------------------------------------------------------------------- elementwise, moves


def _gelu(v: Array) -> Array:
    return np.asarray(0.5 * v * (1 + _each(math.erf, v * v.dtype.type(math.sqrt(0.5)))))


def gelu(x: Array) -> Array:
    return _gelu(_wide(x)).astype(x.dtype)


def gelu_tanh(x: Array) -> Array:
    v = _wide(x)
    return np.asarray(0.5 * v * (1 + np.tanh(math.sqrt(2 / math.pi) * (v + 0.044715 * v * v * v)))).astype(x.dtype)


def gelu_stable(x: Array) -> Array:
    v = _wide(x)
    return np.asarray(0.5 * v * _each(math.erfc, -v * v.dtype.type(math.sqrt(0.5)))).astype(x.dtype)


def silu(x: Array) -> Array:
    v = _wide(x)
    return np.asarray(v / (1 + np.exp(-v))).astype(x.dtype)


def cast_chain(x: Array) -> Array:
    import ml_dtypes

    return x.astype(ml_dtypes.bfloat16).astype(np.float32)


def fp8_scale(x: Array) -> Array:
    amax = np.abs(_wide(x)).max()
    return np.asarray(np.float32(448) / np.maximum(amax, np.float32(1e-12)))


def gather(table: Array, index: Array) -> Array:
    return table[index]


# ---------------------------------------------------------------------------------------- choices and plain arithmetic


def relu(x: Array) -> Array:
    return np.asarray(np.maximum(x, x.dtype.type(0)))


def maximum(a: Array, b: Array) -> Array:
    return np.asarray(np.maximum(a, b))


def minimum(a: Array, b: Array) -> Array:
    return np.asarray(np.minimum(a, b))


def max(x: Array) -> Array:
    return np.asarray(np.max(x, axis=-1))


def min(x: Array) -> Array:
    return np.asarray(np.min(x, axis=-1))


def argmax(x: Array) -> Array:
    return np.asarray(np.argmax(x, axis=-1))


def clamp(x: Array, *, low: float = -1.0, high: float = 1.0) -> Array:
    return np.asarray(np.clip(x, x.dtype.type(low), x.dtype.type(high))).astype(x.dtype)


def add(a: Array, b: Array) -> Array:
    return np.asarray(np.add(a, b))


def mul(a: Array, b: Array) -> Array:
    return np.asarray(np.multiply(a, b))


def max_pool(x: Array, *, window: int = 2, stride: int = 2) -> Array:
    return np.asarray(np.max(sliding_window_view(x, window, axis=-1)[..., ::stride, :], axis=-1))


# ----------------------------------------------------------------------------------------------------------- by index


def embedding(table: Array, index: Array) -> Array:
    return table[index]


def index_select(x: Array, index: Array) -> Array:
    return np.take(x, index, axis=1)


def scatter(base: Array, updates: Array, index: Array) -> Array:
    out = base.copy()
    out[index] = updates
    return out


def scatter_add(base: Array, updates: Array, index: Array) -> Array:
    out = _wide(base).copy()
    np.add.at(out, index, _wide(updates))
    return out.astype(base.dtype)

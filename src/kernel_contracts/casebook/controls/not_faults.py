"""Kernels that were reported and are right: each differs from a second, equally right one."""

import numpy as np

from kernel_contracts.casebook.base import Control


def gelu_tanh(u):
    return (
        np.float32(0.5)
        * u
        * (np.float32(1) + np.tanh(np.float32(0.7978845608028654) * (u + np.float32(0.044715) * u**3)))
    )


def gelu_erf(u):
    from math import erf

    return (0.5 * u * (1 + np.vectorize(erf, otypes=[float])(u.astype(np.float64) * 2**-0.5))).astype(np.float32)


def _linear(x, w, b):
    return x.astype(np.float32) @ w.astype(np.float32).T + b.astype(np.float32)


def linear_gelu_fused(x, w, b):
    """Rounds once: what lies between stays in float32."""
    return gelu_tanh(_linear(x, w, b)).astype(x.dtype)


def linear_gelu_unfused(x, w, b):
    """Two kernels: the linear layer's result is rounded on its way to the second."""
    return gelu_tanh(_linear(x, w, b).astype(x.dtype).astype(np.float32)).astype(x.dtype)


def linear_gelu_erf(x, w, b):
    """Another function, and a fault where the tanh form is claimed."""
    return gelu_erf(_linear(x, w, b)).astype(x.dtype)


def batchnorm_folded(x, w, mean, variance, gamma, beta, eps=1e-5):
    """The scale goes into the weights."""
    scale = gamma / np.sqrt(variance + x.dtype.type(eps))
    return x @ (w * scale[:, None]).T + (beta - mean * scale)


def batchnorm_in_sequence(x, w, mean, variance, gamma, beta, eps=1e-5):
    return (x @ w.T - mean) / np.sqrt(variance + x.dtype.type(eps)) * gamma + beta


def wrapped_rows(A, B, tile=64):
    """Tiles that reach beyond the last row read row i mod M there; their results are not stored."""
    M, N = A.shape[0], B.shape[1]
    out = np.empty((M, N), A.dtype)
    for start in range(0, M, tile):
        rows = np.arange(start, start + tile) % M
        part = A[rows].astype(np.float32) @ B.astype(np.float32)
        kept = min(tile, M - start)
        out[start : start + kept] = part[:kept].astype(A.dtype)
    return out


def _softmax(x, total):
    e = np.exp(x - x.max(axis=-1, keepdims=True))
    return e / total(e)


def softmax_total_pairwise(x):
    return _softmax(x, lambda e: e.sum(axis=-1, keepdims=True)).sum(axis=-1)


def softmax_total_in_sequence(x):
    y = _softmax(x, lambda e: np.add.accumulate(e, axis=-1)[..., -1:])
    return np.add.accumulate(y, axis=-1)[..., -1]


def sum_in_sequence(x):
    """Off by far more than 1e-5 of a result that is small beside its terms."""
    return np.add.accumulate(x, axis=-1)[..., -1] if x.shape[-1] else np.zeros(x.shape[:-1], x.dtype)


HALVES = ("fp16", "bf16")
CONTROLS = (
    Control("linear + GELU, rounded once", linear_gelu_fused, "C-CMP-01", HALVES, True, contract="linear_gelu_tanh.kc"),
    Control(
        "linear + GELU of erf where tanh is claimed", linear_gelu_erf, "C-CMP-01", ("fp32",), False,
        contract="linear_gelu_tanh.kc",
    ),
    Control("batch norm folded", batchnorm_folded, "C-CMP-01", ("fp32",), True, contract="linear_batchnorm.kc"),
    Control("batch norm after", batchnorm_in_sequence, "C-CMP-01", ("fp32",), True, contract="linear_batchnorm.kc"),
    Control("rows that wrap around, values", wrapped_rows, "C-PRC-01", ("fp16",), True, "matmul"),
    Control("rows that wrap around, shapes", wrapped_rows, "C-CMP-03", ("fp16",), True, "matmul"),
    Control(
        "total of a softmax, pairwise", softmax_total_pairwise, "C-PRC-01", ("fp32",), True,
        contract="softmax_total.kc", limit=1 << 26,
    ),
    Control(
        "total of a softmax, in sequence", softmax_total_in_sequence, "C-PRC-01", ("fp32",), True,
        contract="softmax_total.kc", limit=1 << 26,
    ),
    Control("sum of cancelling numbers in fp32, in sequence", sum_in_sequence, "C-PRC-01", ("fp32",), True, "sum"),
)  # fmt: skip

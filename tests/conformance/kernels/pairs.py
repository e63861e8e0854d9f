"""Kernels whose differences are known: what the arbiter must find out by itself."""

import ml_dtypes
import numpy as np

# ------------------------------------------------------------------------------------------------------------- sums


def sum_here(x):
    return np.sum(x, axis=-1, dtype=x.dtype)


def sum_same(x):
    return np.add.reduce(x, axis=-1)


def sum_backwards(x):
    return np.ascontiguousarray(np.cumsum(x[:, ::-1], axis=-1)[:, -1]) if x.shape[-1] else np.zeros(len(x), x.dtype)


def sum_wider(x):
    return np.sum(x, axis=-1, dtype=np.float64).astype(x.dtype)


def sum_narrower(x):
    return np.sum(x.astype(np.float16), axis=-1, dtype=np.float16).astype(x.dtype)


def sum_narrower_still(x):
    return np.sum(x.astype(ml_dtypes.bfloat16), axis=-1, dtype=ml_dtypes.bfloat16).astype(x.dtype)


def sum_without_tail(x):
    whole = x.shape[-1] // 16 * 16
    return np.sum(x[:, :whole], axis=-1, dtype=x.dtype)


# ------------------------------------------------------------------------------------------------- subnormal numbers


def _flushed(x):
    return np.where(np.abs(x) < np.finfo(x.dtype).tiny, x.dtype.type(0), x)


def mul(a, b):
    return a * b


def mul_flushing(a, b):
    return _flushed(_flushed(a) * _flushed(b))


# ----------------------------------------------------------------------------------------------------------- indices


def gather_raising(table, index):
    if ((index < 0) | (index >= len(table))).any():
        raise IndexError("an index has no row")
    return table[index]


def gather_wrapping(table, index):
    return table[index]  # counts from the end; anything else raises


def gather_clamping(table, index):
    return table[np.clip(index, 0, len(table) - 1)]


# ------------------------------------------------------------------------------------------------------ fused rounding


def fma_apart(a, b, c):
    return a * b + c


def fma_fused(a, b, c):
    return (a.astype(np.float64) * b + c).astype(a.dtype)


# ---------------------------------------------------------------------------------------------------------- conversion


def to_fp8_saturating(x):
    return np.clip(x, -448, 448).astype(ml_dtypes.float8_e4m3fn)


def to_fp8_nan(x):
    return x.astype(ml_dtypes.float8_e4m3fn)


def to_bf16(x):
    return x.astype(ml_dtypes.bfloat16)


def to_bf16_truncating(x):
    bits = np.ascontiguousarray(x).view(np.uint32) & np.uint32(0xFFFF0000)
    return bits.view(np.float32).astype(ml_dtypes.bfloat16)


# ------------------------------------------------------------------------------------------------------------- choices


def max_propagating(x):
    return np.max(x, axis=-1)


def max_ignoring(x):
    return np.fmax.reduce(x, axis=-1)


def argmax_first(x):
    return np.argmax(x, axis=-1)


def argmax_last(x):
    return x.shape[-1] - 1 - np.argmax(x[:, ::-1], axis=-1)


# ----------------------------------------------------------------------------------------------------------- functions


def softmax_shifted(x):
    e = np.exp(x - x.max(axis=-1, keepdims=True))
    return e / e.sum(axis=-1, keepdims=True)


def softmax_plain(x):
    e = np.exp(x)
    return e / e.sum(axis=-1, keepdims=True)


def relu_kept(x):
    return np.maximum(x, x.dtype.type(0))


def relu_signed(x):
    return np.where((x > 0) | (x != x), x, np.copysign(x.dtype.type(0), x))


def matmul_here(a, b):
    return a @ b


def matmul_coerced(a, b):
    low = [x.astype(ml_dtypes.bfloat16).astype(x.dtype) for x in (a, b)]
    return low[0] @ low[1]


_calls = [0]


def sum_in_any_order(x):
    _calls[0] += 1
    rng = np.random.default_rng(_calls[0])
    return np.cumsum(x[:, rng.permutation(x.shape[-1])], axis=-1)[:, -1]

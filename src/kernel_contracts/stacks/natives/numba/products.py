"""Products, in Numba: three loops."""

from __future__ import annotations

import numpy as np

from kernel_contracts.stacks.natives.numba._arrays import Array

prange = range


def matmul(A: Array, B: Array) -> Array:
    out = np.empty((A.shape[0], B.shape[1]), A.dtype)
    for i in prange(A.shape[0]):
        for j in range(B.shape[1]):
            total = A.dtype.type(0)
            for k in range(A.shape[1]):
                total += A[i, k] * B[k, j]
            out[i, j] = total
    return out


def linear(x: Array, w: Array, b: Array) -> Array:
    out = np.empty((x.shape[0], w.shape[0]), x.dtype)
    for i in prange(x.shape[0]):
        for j in range(w.shape[0]):
            total = x.dtype.type(0)
            for k in range(x.shape[1]):
                total += x[i, k] * w[j, k]
            out[i, j] = total + b[j]
    return out

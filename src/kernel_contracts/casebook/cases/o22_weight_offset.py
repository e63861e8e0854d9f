"""RMS normalization of a model that multiplies by 1 + w."""

import numpy as np

from kernel_contracts.casebook.base import FaultCase

CASE = FaultCase("O22", __file__, "C-CMP-01", ("bf16",), ("intermediate_narrowed",), "rmsnorm_offset")


def _normalized(x, eps):
    wide = x.astype(np.float32)
    return wide / np.sqrt((wide * wide).mean(axis=-1, keepdims=True) + np.float32(eps))


def faulty(x, w, eps=1e-6):
    """1 + w is formed in the type of w: 16.75 for 16.8125."""
    factor = (np.asarray(1, w.dtype) + w).astype(np.float32)
    return (_normalized(x, eps) * factor).astype(x.dtype)


def sibling(x, w, eps=1e-6):
    return (_normalized(x, eps) * (np.float32(1) + w.astype(np.float32))).astype(x.dtype)

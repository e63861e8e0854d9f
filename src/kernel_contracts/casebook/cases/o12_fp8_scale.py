"""The scale that brings the largest magnitude to 448."""

import numpy as np

from kernel_contracts.casebook.base import FaultCase

CASE = FaultCase("O12", __file__, "C-PRC-04", ("bf16",), ("scale_precision_narrowed",), "fp8_scale")


def faulty(x):
    """448 / amax rounded to the type of the data, then widened."""
    amax = np.maximum(np.abs(x).max(), np.asarray(1e-12, x.dtype))
    return np.asarray(np.asarray(448, x.dtype) / amax, x.dtype).astype(np.float32)


def sibling(x):
    """amax is widened first."""
    amax = np.maximum(np.abs(x).max().astype(np.float32), np.float32(1e-12))
    return np.asarray(np.float32(448) / amax)

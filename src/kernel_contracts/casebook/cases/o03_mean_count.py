"""A mean whose sum and count are both held in the type of the input."""

import numpy as np

from kernel_contracts.casebook.base import FaultCase

CASE = FaultCase("O03", __file__, "C-PRC-01", ("fp16",), ("partial_sums_narrowed",), "mean", limit=1 << 40)


def faulty(x):
    """In fp16 the sum overflows beyond 65504, and so does the count: -inf / inf is NaN."""
    total = x.astype(np.float32).sum(axis=-1).astype(x.dtype)
    count = np.asarray(float(x.shape[-1])).astype(x.dtype)
    return (total / count).astype(x.dtype)


def sibling(x):
    """Sum and count in float32, one rounding at the end."""
    return (x.astype(np.float32).sum(axis=-1) / np.float32(x.shape[-1])).astype(x.dtype)

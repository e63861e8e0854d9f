"""A copy by a data-move instruction whose bf16 mode widens and narrows."""

import numpy as np

from kernel_contracts.casebook.base import FaultCase

CASE = FaultCase("O08", __file__, "C-PRC-03", ("bf16",), ("input_flushed",), "copy")

LEAST_NORMAL = 2.0**-126


def faulty(x):
    """What is below the least normal number becomes a zero of its sign."""
    with np.errstate(invalid="ignore"):
        small = np.abs(x.astype(np.float32)) < LEAST_NORMAL
    return np.where(small, np.copysign(np.zeros((), x.dtype), x), x)


def sibling(x):
    """The bit pattern is copied."""
    return x.view(np.uint16).copy(order="C").view(x.dtype) if x.dtype.itemsize == 2 else x.copy(order="C")

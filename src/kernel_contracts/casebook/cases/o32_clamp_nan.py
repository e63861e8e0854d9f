"""A number brought between two limits."""

import numpy as np

from kernel_contracts.casebook.base import FaultCase

CASE = FaultCase("O32", __file__, "C-EXC-01", ("fp32", "fp16"), ("nan_lost",), "clamp")


def faulty(x, *, low=-1.0, high=1.0):
    """The maximum and minimum of C return the number where one operand is NaN."""
    kind = x.dtype.type
    return np.fmin(np.fmax(x, kind(low)), kind(high))


def sibling(x, *, low=-1.0, high=1.0):
    kind = x.dtype.type
    return np.where(np.isnan(x), x, np.fmin(np.fmax(x, kind(low)), kind(high)))

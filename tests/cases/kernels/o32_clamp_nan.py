"""A number brought between two limits."""

import numpy as np


def faulty(x, *, low=-1.0, high=1.0):
    """The maximum and minimum of C return the number where one operand is NaN."""
    kind = x.dtype.type
    return np.fmin(np.fmax(x, kind(low)), kind(high))


def sibling(x, *, low=-1.0, high=1.0):
    kind = x.dtype.type
    return np.where(np.isnan(x), x, np.fmin(np.fmax(x, kind(low)), kind(high)))

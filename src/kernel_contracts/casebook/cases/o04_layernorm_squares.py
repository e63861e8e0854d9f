"""Layer normalization whose variance is a difference of squares."""

import numpy as np

from kernel_contracts.casebook.base import FaultCase

CASE = FaultCase("O04", __file__, "C-PRC-02", ("fp32",), ("cancelled",), "layernorm")


def variance_of_squares(x):
    """E[x^2] - E[x]^2, in the type of `x`: what is left of it at a large mean is rounding."""
    mean = x.mean(axis=-1, keepdims=True)
    return (x * x).mean(axis=-1, keepdims=True) - mean * mean


def faulty(x, gamma, beta, eps=1e-5):
    """E[x^2] - E[x]^2 cancels where the mean is far above the spread."""
    mean = x.mean(axis=-1, keepdims=True)
    return (x - mean) / np.sqrt(variance_of_squares(x) + x.dtype.type(eps)) * gamma + beta


def sibling(x, gamma, beta, eps=1e-5):
    """Deviations first, their own mean taken off once more."""
    d = x - x.mean(axis=-1, keepdims=True)
    d = d - d.mean(axis=-1, keepdims=True)
    return d / np.sqrt((d * d).mean(axis=-1, keepdims=True) + x.dtype.type(eps)) * gamma + beta

"""Normalization and scale fused into one kernel; gamma has one factor a row."""

import numpy as np

from kernel_contracts.casebook.base import FaultCase

CASE = FaultCase("O23", __file__, "C-CMP-01", ("fp32",), ("broadcast_misaligned",), "normalized_scale")


def _normalized(x, eps):
    d = x - x.mean(axis=-1, keepdims=True)
    d = d - d.mean(axis=-1, keepdims=True)
    return d / np.sqrt((d * d).mean(axis=-1, keepdims=True) + x.dtype.type(eps))


def faulty(x, gamma, eps=1e-5):
    """The fused kernel indexes gamma by the normalized axis, whatever its shape."""
    columns = np.arange(x.shape[-1]) % gamma.size  # beyond its end lies foreign memory; here it starts again
    return _normalized(x, eps) * gamma.ravel()[columns]


def sibling(x, gamma, eps=1e-5):
    """Fused only where gamma has the shape of the normalized axis; broadcast otherwise."""
    if gamma.shape == x.shape[-1:]:
        return faulty(x, gamma, eps)
    return _normalized(x, eps) * gamma

"""Clipping by the norm over two gradients of a scaled loss."""

import numpy as np

from kernel_contracts.casebook.base import FaultCase

CASE = FaultCase("O11", __file__, "C-PRC-04", ("fp32",), ("clipped_scaled",), "clip_grad", samples=10, limit=1 << 18)


def _clipped(g, b, max_norm):
    total = np.sqrt(np.sum(g * g) + np.sum(b * b))
    coefficient = np.minimum(np.float32(max_norm) / (total + np.float32(1e-6)), np.float32(1))
    return g * coefficient, b * coefficient, total


def faulty(g, b, *, scale=1.0, max_norm=1.0):
    """Clipped first, then unscaled."""
    g, b, total = _clipped(g, b, max_norm)
    return g / np.float32(scale), b / np.float32(scale), np.asarray(total / np.float32(scale))


def sibling(g, b, *, scale=1.0, max_norm=1.0):
    """Unscaled first, then clipped."""
    g, b, total = _clipped(g / np.float32(scale), b / np.float32(scale), max_norm)
    return g, b, np.asarray(total)

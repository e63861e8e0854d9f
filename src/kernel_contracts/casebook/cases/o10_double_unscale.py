"""Gradients of a scaled loss, brought back."""

import numpy as np

from kernel_contracts.casebook.base import FaultCase

CASE = FaultCase(
    "O10", __file__, "C-PRC-04", ("fp32", "fp16"), ("unscaled_twice",), "unscale", samples=10, limit=1 << 18
)


def _found(g):
    return np.asarray(not np.isfinite(g.astype(np.float32)).all())


def faulty(g, *, scale=1.0):
    """The trainer unscales, and so does the step that it calls."""
    return g.astype(np.float32) / np.float32(scale) / np.float32(scale), _found(g)


def sibling(g, *, scale=1.0):
    """Once."""
    return g.astype(np.float32) / np.float32(scale), _found(g)

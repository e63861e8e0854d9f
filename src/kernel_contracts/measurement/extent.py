"""How large errors are and where in the output they lie: a coarse map of ratios, small enough for every call."""

from __future__ import annotations

import numpy as np

from kernel_contracts.contracts.evidence import Extent
from kernel_contracts.numerics.acceptance import Acceptance
from kernel_contracts.numerics.bounded import Array

BLOCKS = 16
"""Blocks along an axis at most. A block is a power of two wide, as tiles of kernels are: tiles and tails show."""


def extent(y: Array, acceptance: Acceptance, ratios: Array) -> Extent | None:
    """The element with the largest ratio, and the largest ratio of each block. None of an output without elements."""
    if not ratios.size:
        return None
    worst = np.unravel_index(int(np.argmax(ratios)), ratios.shape)
    with np.errstate(invalid="ignore", over="ignore"):  # infinity where infinity is due
        residual = abs(float(y[worst]) - float(np.asarray(acceptance.center)[worst]))
    tolerance = float(np.asarray(acceptance.tolerance)[worst])
    plane = _plane(ratios)
    size = (int(plane.shape[0]), int(plane.shape[1]))
    rows, columns = _width(size[0]), _width(size[1])
    if not plane.any():
        return Extent(residual, tolerance, size, (rows, columns))
    blocks = np.maximum.reduceat(plane, np.arange(0, size[0], rows), axis=0)
    blocks = np.maximum.reduceat(blocks, np.arange(0, size[1], columns), axis=1)
    return Extent(residual, tolerance, size, (rows, columns), tuple(tuple(float(r) for r in line) for line in blocks))


def _plane(ratios: Array) -> Array:
    """Two axes: leading ones lie on top of each other, the largest ratio wins; a vector is one row."""
    if ratios.ndim < 2:
        return ratios.reshape(1, -1)
    plane: Array = ratios.reshape(-1, *ratios.shape[-2:]).max(axis=0)
    return plane


def _width(n: int) -> int:
    """The smallest power of two that cuts n into at most BLOCKS blocks."""
    width = 1
    while -(-n // width) > BLOCKS:
        width *= 2
    return width

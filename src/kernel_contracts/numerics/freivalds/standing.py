"""Rows that stand out of their own product: looked at although their residuals are within what is allowed.

The threshold of the screen allows any order of summation; most kernels do far better. So the spread of the residuals
themselves tells which rows stand out, and these few are examined. Nothing rests on that spread but where to look: a
row is accused by its exact recomputation alone, and a product that is wrong all over still meets the threshold.
"""

from __future__ import annotations

from dataclasses import dataclass
from statistics import NormalDist

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

LOOKS = 0.01
"""Share of honest products, of normal residuals, that have a row looked at in vain."""
MOST = 8
"""Rows looked at."""
FEWEST = 64
"""Rows from which on their median says what is usual."""
_MEDIAN = NormalDist().inv_cdf(0.75)


@dataclass(frozen=True, slots=True)
class Standing:
    """What is usual, and the rows that are not."""

    limit: Array
    """For each column of R, the z from which on a row is examined."""
    scale: Array
    """For each, the standard deviation of z."""
    doubt: float
    """By how much both may be larger next time: the median of m normal variables scatters by 1.17 / sqrt(m)."""
    places: tuple[tuple[int, ...], ...]
    """Batch place and row of those that stand out and are below the threshold, the worst first."""


def standing(z: Array, threshold: float) -> Standing:
    """From |residual| over its allowed standard deviation, (..., rows, columns of R); not finite where undefined."""
    rows = z.reshape(-1, z.shape[-1])
    columns = rows.shape[1]
    if len(rows) < FEWEST:
        return Standing(np.full(columns, threshold), np.ones(columns), 1.0, ())
    doubt = 1 + 2.33 * 1.17 / len(rows) ** 0.5
    middle = len(rows) // 2
    usual = np.partition(rows, middle, axis=0)[middle]  # NaN sorts last: it is usual where it is most
    scale = np.minimum(usual / _MEDIAN, 1.0)
    far = NormalDist().inv_cdf(1 - LOOKS / (2 * rows.size))
    limit = np.minimum(threshold, far * scale)
    limit = np.where(np.isnan(limit), threshold, limit)
    over, within = rows > limit, rows <= threshold
    one = columns == 1  # as it mostly is, and then there is nothing to reduce
    out = np.flatnonzero((over & within) if one else over.any(axis=1) & within.all(axis=1))
    if not out.size:
        return Standing(limit, scale, doubt, ())
    with np.errstate(divide="ignore"):
        by = np.max(rows[out] / limit, axis=1)
        order = np.argsort(-by, kind="stable")
        if out.size > MOST:  # the next one is not looked at: what is found starts there
            limit = np.minimum(threshold, np.maximum(limit, rows[out[order[MOST]]]))
    chosen = out[order[:MOST]]
    return Standing(limit, scale, doubt, tuple(_place(int(row), z.shape[:-1]) for row in chosen))


def _place(flat: int, shape: tuple[int, ...]) -> tuple[int, ...]:
    return tuple(int(i) for i in np.unravel_index(flat, shape))

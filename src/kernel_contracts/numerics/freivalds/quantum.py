"""The second statistic: residuals in units of their output's own spacing, for faults that spread over every element.

When a product is rounded once to a narrow format, its element errs by a fraction of the spacing there, evenly spread in
+-1/2, so the residual of a row has variance sum_j spacing(C_ij)^2 r_j^2 / 12 and what accumulation adds. Normalized by
that, the mean square of the residuals is 1 for a product rounded once, whatever A and B, and more for a second
rounding, a scale that is off by half a spacing or an accumulator too narrow, which no tolerance per element sees.

It presumes that roundings are independent. Nearly constant products share them; then all rows lean the same way for
the same vector, and the statistic says `valid` False. An alarm is never an accusation: rows are examined exactly. So
its limit is one that a hundredth of honest products may pass (`standing.LOOKS`).
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from kernel_contracts.formats import Format
from kernel_contracts.numerics.freivalds.quantiles import mean_square
from kernel_contracts.numerics.rounding import ulp_of

Array = NDArray[np.float64]

ROWS = 512
"""Rows that are looked at: with two vectors the mean square then scatters by 4%."""
FEWEST = 16
"""Residuals below which the statistic is not formed, and columns below which spacings do not average out."""
_LEAN = 6.0
"""Standard deviations of the mean over rows beyond which their roundings are not independent."""


@dataclass(frozen=True, slots=True)
class Quantum:
    """The statistic and what it may be."""

    mean_square: float
    limit: float
    lean: float
    """Largest mean over the rows, in standard deviations of what they are: large where rows share their roundings."""
    valid: bool
    rows: tuple[int, ...]

    @property
    def alarm(self) -> bool:
        return self.valid and not self.mean_square <= self.limit


def choose(m: int, seed: int) -> NDArray[np.intp]:
    """The rows to look at."""
    if m <= ROWS:
        return np.arange(m, dtype=np.intp)
    return np.sort(np.random.default_rng(seed).choice(m, ROWS, replace=False)).astype(np.intp)


def quantum(
    c: Array,
    residual: Array,
    vectors: Array,
    accumulated: Array,
    output: Format,
    rows: NDArray[np.intp],
    probability: float,
) -> Quantum | None:
    """From rows of C (r, n), their residuals (r, k), R (n, k) and the variance that accumulation and check add (r, k).

    None where there are too few residuals or columns for an average, or a row is not finite.
    """
    if residual.size < FEWEST or c.shape[1] < FEWEST or not np.isfinite(c).all():
        return None
    spacing = ulp_of(c, output) ** 2 / 12
    variance = spacing @ (vectors**2) + accumulated
    with np.errstate(divide="ignore", invalid="ignore"):
        z = np.where(residual == 0, 0.0, residual / np.sqrt(variance))
    if not np.isfinite(z).all():
        return None
    size = np.sqrt(np.mean(z**2, axis=0))
    lean = float(np.max(np.abs(np.mean(z, axis=0)) / np.maximum(size, 1e-300)) * math.sqrt(z.shape[0]))
    values = len(np.unique(c))
    varied = values >= min(c.size, 2 ** (output.precision - 1)) / 4
    limit = mean_square(probability, z.size)
    return Quantum(float(np.mean(z**2)), limit, lean, lean <= _LEAN and varied, tuple(int(r) for r in rows))

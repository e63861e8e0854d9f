"""How small an error of one element would have been found: worked out when it is asked for."""

from __future__ import annotations

import math
from dataclasses import dataclass
from statistics import NormalDist

import numpy as np
from numpy.typing import NDArray

from kernel_contracts.numerics.freivalds.model import Arithmetic
from kernel_contracts.numerics.freivalds.quantiles import deviation
from kernel_contracts.numerics.freivalds.vectors import GRADE

Array = NDArray[np.float64]

_ROWS = 20
_NORMAL = np.asarray([NormalDist().inv_cdf(x) for x in (np.arange(100) + 0.5) / 100])
_EVEN = np.asarray([-0.75, -0.25, 0.25, 0.75])
"""Rows, residuals and graded magnitudes, each in equal shares."""


@dataclass(frozen=True, slots=True)
class Sensitivity:
    """What the screen knew of the rows, and what it took them to be."""

    variance: Array
    """V of every row for the first vector."""
    norms: Array
    """Mean squared norm of every row of the exact product."""
    width: int
    """Columns that a vector sees."""
    alpha: float
    kind: str
    """Of the first vector."""
    limit: float
    """z from which on a row is examined."""
    scale: float
    """Standard deviation of an honest z."""
    doubt: float
    """By how much both may be larger with other vectors."""
    arithmetic: Arithmetic
    dims: tuple[int, int, int]
    false_alarm: float
    rigorous: bool

    @property
    def rms(self) -> float:
        """Root mean square of the exact product, estimated from A and B."""
        norms = self.norms[np.isfinite(self.norms)]
        return abs(self.alpha) * math.sqrt(float(np.mean(norms)) / max(self.width, 1)) if norms.size else 0.0

    @property
    def floor(self) -> float:
        """The smallest error found with probability 0.99, over the rms.

        An error d in one element moves its row's residual by d |r_j|, so the row is examined where that less an honest
        residual, normal and of the usual scale, passes the limit. The floor is the d that does so with probability 0.99
        over rows, columns and residuals. The element is then called a fault where d passes its bound, which is
        estimated for an element of 2.58 times the rms: 99% are smaller.
        """
        noise, rms = self.variance[np.isfinite(self.variance)], self.rms
        if not noise.size or rms == 0:
            return float("inf")
        some = np.sort(noise[:: max(1, noise.size // 1024)])
        spread = np.sqrt(some[(np.arange(_ROWS) * some.size + some.size // 2) // _ROWS])[:, None, None]
        least = (1 + GRADE * _EVEN if self.kind == "graded" else np.ones(1))[:, None]
        sizes = np.sort((spread * (self.limit + self.scale * _NORMAL) / least).ravel())
        return max(self.doubt * float(sizes[int(0.99 * sizes.size)]), self._called(rms)) / rms

    def _called(self, rms: float) -> float:
        """What `examine` allows an element of 2.58 times the rms, of terms that are spread evenly."""
        ar, (m, k, n) = self.arithmetic, self.dims
        u, half = ar.accumulator.u, 2.58 * rms * ar.output.u if ar.rounds_output else 0.0
        if self.rigorous:
            return (k + 2) * math.sqrt(k) * u * rms + half
        sums = u * rms * math.sqrt(2 * (2.58**2 * k / 3 + k / 6 + 1))
        cut = 4 * ar.operands.u * math.sqrt(k) * rms if ar.operands is not None else 0.0
        # A quarter more for the least lucky order.
        return 1.25 * deviation(self.false_alarm / 2, m * n) * sums + u * math.sqrt(k) * rms + half + cut

"""A value with a rigorous radius: the number system of the derived tolerance.

A `Bounded` says: every conforming execution holds a number within `e` of `v`. Rounding model
fl(x) = x(1 + d) + h with |d| <= u and |h| <= half the least subnormal (Higham 2002, section 2.1 and eq. 2.8); the
absolute term is what makes tiny fp16 softmax entries conform. A radius of infinity means that every answer is
admitted; a radius of zero that exactly one is, and `quantum` is how such exactness is proved: when all numbers that
can occur, in any order of summation, are multiples of a quantum q and below 2^p q, nothing was rounded at all.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from kernel_contracts.formats import Format

Array = np.ndarray[Any, np.dtype[Any]]
Radius = Array | float

#: Computing a bound in float64 rounds too; every radius is enlarged by this share, far above what that can cost.
SLACK = 2.0**-40

#: Error budgets of elementary functions in ulp, the OpenCL C 3.0 full profile (table "ULP values for single precision
#: built-in math functions"); a contract may state its own.
ULPS: Mapping[str, float] = {
    "exp": 3, "log": 3, "log1p": 2, "expm1": 3, "tanh": 5, "erf": 16, "erfc": 16, "sqrt": 3, "rsqrt": 2,
    "sin": 4, "cos": 4, "sigmoid": 6, "pow": 16, "div": 2.5,
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Bounded:
    """Center, radius and what is known besides. `e` is a scalar 0.0 where nothing was rounded anywhere."""

    v: Array
    e: Radius = 0.0
    nonneg: bool = False
    """No execution can give a negative number."""
    quantum: float | None = None
    """Where the radius is 0, every value is a multiple of this power of two."""
    admissible: Callable[[Array], Array] | None = None
    """For selections: which answers are right, elementwise."""

    @property
    def exact(self) -> bool:
        """Whether nothing was rounded anywhere."""
        return not isinstance(self.e, np.ndarray) and self.e == 0.0

    def radius(self) -> Array:
        return np.broadcast_to(np.asarray(self.e, dtype=np.float64), np.shape(self.v))


@dataclass(frozen=True, slots=True)
class BoundContext:
    """What the tolerance clause allows: summation order, function budgets, subnormal policy."""

    summation: str = "any"
    """any, sequential, pairwise, blocked or split."""
    block: int = 1
    """b of blocked(b), k of split(k)."""
    probabilistic: float = 0.0
    """lambda of Higham and Mary (2019); 0 asks for the worst case."""
    ulps: Mapping[str, float] = field(default_factory=lambda: dict(ULPS))
    flush: bool = False
    """Subnormal results may be flushed to zero (policy subnormal_result admits flush)."""
    overflows: bool = False
    """A mandated rounding past the largest finite number gives an infinity (policy overflow is inf)."""
    absolute: frozenset[str] = frozenset()
    """Functions whose budget counts in ulp of 1, not of their result: an erf that is added to 1."""

    def tiny(self, fmt: Format) -> float:
        """The absolute term of one rounding: half the least subnormal (all of it where half is no float64)."""
        return fmt.least_normal if self.flush else fmt.least_subnormal / 2 or fmt.least_subnormal

    def unrounded(self, quantum: float | None, largest: float, fmt: Format) -> bool:
        """Whether `fmt` holds every multiple of `quantum` up to `largest` in magnitude, so that nothing is rounded."""
        least = fmt.least_normal if self.flush else fmt.least_subnormal
        if quantum is None or quantum < least:
            return False
        return largest <= 2.0**fmt.precision * quantum and largest <= fmt.max_finite

    def depth(self, n: int) -> int:
        """Additions on the longest path of a sum of n terms, under the declared order."""
        if n <= 1:
            return 0
        if self.summation == "pairwise":
            return math.ceil(math.log2(n))
        if self.summation == "blocked":
            return min(n, self.block) - 1 + max(math.ceil(n / self.block) - 1, 0)
        if self.summation == "split":
            part = math.ceil(n / self.block)
            return part - 1 + min(self.block, n) - 1
        return n - 1

    def gamma(self, k: int, fmt: Format) -> float:
        """gamma_k = k u / (1 - k u) (Higham 2002, lemma 3.1), or its probabilistic form; infinite where k u >= 1/2.

        Probabilistic: exp(lambda sqrt(k) u + k u^2 / (1 - u)) - 1, Higham and Mary 2019, theorem 2.4.
        """
        u = fmt.u
        if k <= 0:
            return 0.0
        if k * u >= 0.5:
            return math.inf
        worst = k * u / (1 - k * u)
        if self.probabilistic:
            return min(worst, math.expm1(self.probabilistic * math.sqrt(k) * u + k * u * u / (1 - u)))
        return worst

    def rounded(
        self,
        v: Array,
        e: Radius,
        fmt: Format,
        *,
        ulps: float = 0.5,
        tiny: bool = True,
        quantum: float | None = None,
        nonneg: bool = False,
    ) -> Bounded:
        """One operation in `fmt` whose exact result lies within `e` of `v`, done with an error of `ulps` ulp."""
        with np.errstate(invalid="ignore", over="ignore"):
            magnitude = np.abs(np.asarray(v, dtype=np.float64))
            magnitude += e
            exact = quantum is not None and ulps <= 0.5 and _all_zero(e)
            if exact and self.unrounded(quantum, float(np.max(magnitude, initial=0.0)), fmt):
                return Bounded(v, 0.0, nonneg, quantum)
            error = magnitude * (2 * ulps * fmt.u)
            if tiny or self.flush:
                error += max(2 * ulps, 1.0) * self.tiny(fmt)
            magnitude += error
            return clean(v, e, error, fmt, magnitude, nonneg)


def _all_zero(e: Radius) -> bool:
    return not np.any(e) if isinstance(e, np.ndarray) else e == 0.0


def clean(
    v: Array, carried: Radius, error: Radius, fmt: Format | None, magnitude: Array, nonneg: bool = False
) -> Bounded:
    """Radius `carried` by the operands plus the `error` of the operation itself, with the special cases settled.

    An infinity keeps radius 0 where the operands were known, however large a relative error of it is; an unknown
    radius admits all, and so does a `magnitude` (the largest number on the way) that overflows. Formats without
    infinities have no such certainty.
    """
    with np.errstate(invalid="ignore", over="ignore"):
        e = np.asarray(carried + error, dtype=np.float64)
        e *= 1 + SLACK
    # the largest number is NaN or infinite where any is, and no value exceeds its magnitude: two passes, not six
    if not math.isfinite(float(np.max(e, initial=0.0))) or not math.isfinite(float(np.max(magnitude, initial=0.0))):
        infinite = np.isinf(v)
        e = np.where(np.isnan(e) | np.isnan(v), np.inf, e)
        certain = np.isfinite(carried) & (fmt is None or fmt.overflow == "inf")
        e = np.where(infinite, np.where(certain, 0.0, np.inf), e)
        magnitude = np.where(infinite, 0.0, magnitude)
    if fmt is not None and magnitude.size and not float(np.max(magnitude, initial=0.0)) < fmt.overflow_threshold:
        e = np.where(magnitude < fmt.overflow_threshold, e, np.inf)
    return Bounded(v, e, nonneg)


def quantum_of(x: Array) -> float | None:
    """The largest power of two that divides every element; None for an array of zeros, NaN or infinities only."""
    flat = np.asarray(x, dtype=np.float64).ravel()
    flat = flat[flat != 0]
    if flat.size == 0:
        return 1.0
    if not np.isfinite(flat).all():
        return None
    mantissa, exponent = np.frexp(flat)
    whole = np.abs(np.ldexp(mantissa, 53)).astype(np.int64)
    low = (whole & -whole).astype(np.float64)
    return float(np.min(np.ldexp(low, exponent - 53)))

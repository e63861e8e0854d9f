"""Suspicious rows, element by element: each is recomputed exactly and compared with the bound of its own partial sums.

An accusation rests on this alone. The bound of an element is

    lam u_a sqrt(2 P) + drift + u_a |A||B| + half a spacing of the output + what is declared of operands and additions,

where P is the largest of sum_k S_k^2 + t_k^2 over the natural order, its reverse, lanes of 2 to 64 and the mean over
random orders (`model`), with the real terms t_k; the factor 2 covers chunks, whose partial sums are differences of two
S_k. `drift` is twice the largest error of emulated honest sums of the same terms: for repeated values rounding errors
are no longer independent, and then that is what a conforming kernel really does. u_a |A||B| is the rounding of products
where they all err alike. In rigorous mode the first three are gamma_{K+1} |A||B| (Higham 2002, section 3.5).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kernel_contracts.formats import Format
from kernel_contracts.numerics.freivalds.model import Arithmetic
from kernel_contracts.numerics.freivalds.quantiles import deviation, mean_square
from kernel_contracts.numerics.freivalds.twofold import products, sizes
from kernel_contracts.numerics.rounding import ulp_of
from kernel_contracts.numerics.summation import Order, sum_terms

Array = NDArray[np.float64]

WORST = 48
"""Elements of a row whose orders are looked at, the most suspicious first."""
SAMPLE = 64
"""Elements of a row drawn for the spread of its errors."""
_LANES = (2, 4, 8, 16, 32, 64)


@dataclass(frozen=True, slots=True)
class Matrices:
    """One product, as NumPy arrays: A (m, K), B (K, n), C (m, n) of any real dtype, and what is added to alpha A B."""

    a: Any
    b: Any
    c: Any
    alpha: float
    added: Any
    """Function from row numbers to the rows added, in float64, and the sums of their magnitudes."""
    arithmetic: Arithmetic
    rigorous: bool
    unit: tuple[float, float] = (1.0, 1.0)
    """What A and B were scaled by, powers of two: thresholds of underflow scale along."""

    def least(self, fmt: Format) -> float:
        """The least subnormal of a format on this scale."""
        return fmt.least_subnormal * self.unit[0] * self.unit[1]


@dataclass(frozen=True, slots=True)
class ExactRow:
    """One row, recomputed."""

    row: int
    truth: Array
    """alpha T + what is added, to far below the bound."""
    error: Array
    """C - truth."""
    bound: Array
    """The bound of each element: of exact orders where they were looked at, of the random order where that decides,
    and below it, of T alone, where the error is within that already."""
    wrong: NDArray[np.intp]
    """Columns beyond their bound, the worst first."""
    spread: float
    """Mean square of error over proxy, above rounding of the output."""
    spread_limit: float

    @property
    def faulty(self) -> bool:
        return self.wrong.size > 0 or not self.spread <= self.spread_limit


def examine(matrices: Matrices, rows: Sequence[int], *, probability: float, seed: int) -> list[ExactRow]:
    """Each row exactly. `probability` is that of accusing an honest product, whichever rows are looked at."""
    index = np.asarray(rows, dtype=np.intp)
    a = np.asarray(matrices.a[index], dtype=np.float64)
    total = products(a, matrices.b, double=matrices.arithmetic.accumulator.precision > 24)
    added, added_absolute = matrices.added(index)
    truth = matrices.alpha * total + added
    error = np.asarray(matrices.c[index], dtype=np.float64) - truth
    m, n = matrices.c.shape
    lam = deviation(probability / 2, m * n)
    open_ = ~(np.abs(error) <= _least_bound(matrices, truth, total, lam))
    every = matrices.rigorous or np.count_nonzero(open_) > open_.size // 8
    absolute, squares = sizes(a, matrices.b) if every else (np.empty_like(total), np.empty_like(total))
    out = []
    for i, row in enumerate(rows):
        sample = np.random.default_rng(seed ^ row).choice(n, min(SAMPLE, n), replace=False)
        seen = np.arange(n) if every else np.union1d(np.flatnonzero(open_[i]), sample)
        if not every:
            terms = a[i] * np.asarray(matrices.b[:, seen], dtype=np.float64).T
            absolute[i, seen], squares[i, seen] = np.abs(terms).sum(axis=-1), (terms**2).sum(axis=-1)
        bounds = _Bounds(matrices, a[i], lam, absolute[i], added_absolute[i], truth[i])
        least = _least_bound(matrices, truth[i], total[i], lam)
        out.append(_row(bounds, row, error[i], total[i], squares[i], probability / (2 * m), seen, sample, least))
    return out


def _least_bound(matrices: Matrices, truth: Array, total: Array, lam: float) -> Array:
    """What no bound is below, from T alone: an error within it needs no more."""
    ar, k = matrices.arithmetic, matrices.a.shape[1]
    least = abs(matrices.alpha) * lam * ar.accumulator.u * np.sqrt(2 * k / 3) * np.abs(total)
    return np.asarray(least + (ulp_of(np.abs(truth), ar.final) / 2 if ar.rounds_output else 0.0))


@dataclass(frozen=True, slots=True)
class _Bounds:
    """What one row's elements may err by."""

    matrices: Matrices
    a: Array
    lam: float
    absolute: Array
    added_absolute: Array
    truth: Array

    def steady(self, columns: Any) -> tuple[Array, Array]:
        """Everything but accumulation: half spacings of the output, then the rest."""
        ar = self.matrices.arithmetic
        k, u, alpha = self.a.size, ar.accumulator.u, abs(self.matrices.alpha)
        size, added = self.absolute[columns], self.added_absolute[columns]
        own = k * 2.0**-53 * size if ar.accumulator.precision <= 24 else 2.0**-52 * np.abs(self.truth[columns])
        rest = alpha * (u * size + own) + k * max(alpha, 1.0) * self.matrices.least(ar.accumulator)
        if added.any() or alpha != 1.0:
            rest = rest + 3 * u * (alpha * size + added)
        if ar.operands is not None:
            rest = rest + alpha * 4 * ar.operands.u * size
        half = np.maximum(ulp_of(np.abs(self.truth[columns]) + rest, ar.final), self.matrices.least(ar.final)) / 2
        return half if ar.rounds_output else np.zeros_like(half), rest

    def rigorous(self, columns: Any) -> Array:
        """gamma_{K+1} |A||B| with the rest."""
        half, rest = self.steady(columns)
        u = self.matrices.arithmetic.accumulator.u
        n = self.a.size + 1
        gamma = n * u / (1 - n * u) if n * u < 1 else np.inf
        total = rest + abs(self.matrices.alpha) * gamma * self.absolute[columns]
        return np.asarray(half + total + self._over(columns, total))

    def bound(self, columns: Any, proxy: Array, drift: Array) -> Array:
        """The bound for a proxy P of these columns."""
        half, rest = self.steady(columns)
        total = rest + abs(self.matrices.alpha) * (
            self.lam * self.matrices.arithmetic.accumulator.u * np.sqrt(2 * proxy) + drift
        )
        return half + total + self._over(columns, total)

    def _over(self, columns: Any, total: Array) -> Array:
        """What half a spacing grows by where the unrounded value lies in the next binade."""
        ar = self.matrices.arithmetic
        if not ar.rounds_output:
            return np.zeros_like(total)
        size = np.abs(self.truth[columns])
        with np.errstate(invalid="ignore", over="ignore"):
            return np.asarray((ulp_of(size + total, ar.final) - ulp_of(size, ar.final)) / 2)


def _row(
    bounds: _Bounds,
    row: int,
    error: Array,
    total: Array,
    squares: Array,
    probability: float,
    seen: NDArray[np.intp],
    sample: NDArray[np.intp],
    least: Array,
) -> ExactRow:
    """The verdict on a row whose columns `seen` have their sizes; elsewhere the error is within `least`."""
    k, n = bounds.a.size, total.size
    if bounds.matrices.rigorous:
        bound = bounds.rigorous(np.arange(n))
        return ExactRow(row, bounds.truth, error, bound, _worst(error, bound), 0.0, 1.0)
    random, bound = np.zeros(n), least.copy()
    random[seen] = k / 3 * total[seen] ** 2 + (k / 6 + 1) * squares[seen]
    bound[seen] = bounds.bound(seen, random[seen], np.zeros(seen.size))
    suspects = _worst(error, bound)[:WORST]
    if suspects.size:
        bound[suspects] = _ordered_bound(bounds, suspects, random)
        suspects = suspects[~(np.abs(error[suspects]) <= bound[suspects])]
    spread, limit = _spread(bounds, sample, error, random, probability)
    return ExactRow(row, bounds.truth, error, bound, suspects, spread, limit)


def _worst(error: Array, bound: Array) -> NDArray[np.intp]:
    """Columns beyond the bound, the worst first; NaN is beyond everything."""
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = np.where(error == 0, 0.0, np.abs(error) / bound)
    ratio = np.where(np.isnan(ratio), np.inf, ratio)
    beyond = np.flatnonzero(~(ratio <= 1))
    return np.asarray(beyond[np.argsort(-ratio[beyond], kind="stable")])


def _ordered_bound(bounds: _Bounds, columns: NDArray[np.intp], random: Array) -> Array:
    terms = _terms(bounds, columns)
    proxy = np.maximum(random[columns], order_proxy(terms))
    drift = 2 * honest_error(terms, bounds.matrices.arithmetic)
    return bounds.bound(columns, proxy, drift)


def _spread(
    bounds: _Bounds, columns: NDArray[np.intp], error: Array, random: Array, probability: float
) -> tuple[float, float]:
    """Mean square of what the errors have beyond output rounding, over their proxies; and its limit."""
    limit = mean_square(probability, columns.size)
    zero = np.zeros(columns.size)
    found = _share(bounds, columns, error, 2 * random[columns], zero)
    if found <= limit:  # a larger proxy only lowers it
        return found, limit
    terms = _terms(bounds, columns)
    proxy = 2 * np.maximum(random[columns], order_proxy(terms))
    return _share(bounds, columns, error, proxy, 2 * honest_error(terms, bounds.matrices.arithmetic)), limit


def _share(bounds: _Bounds, columns: NDArray[np.intp], error: Array, proxy: Array, drift: Array) -> float:
    half, rest = bounds.steady(columns)
    scale = abs(bounds.matrices.alpha) * bounds.matrices.arithmetic.accumulator.u * np.sqrt(proxy) + drift + rest
    with np.errstate(invalid="ignore", divide="ignore"):
        excess = np.maximum(np.abs(error[columns]) - half - bounds._over(columns, bounds.lam * scale), 0.0)
        share = np.where(excess == 0, 0.0, excess / scale)
    return float(np.mean(share**2))


def _terms(bounds: _Bounds, columns: NDArray[np.intp]) -> Array:
    """The terms of the sums of some elements: (columns, K)."""
    return np.asarray(bounds.a * np.asarray(bounds.matrices.b[:, columns], dtype=np.float64).T)


def order_proxy(terms: Array) -> Array:
    """The largest of sum S_k^2 + t_k^2 over the natural order, its reverse and strided lanes; terms (elements, K)."""
    k = terms.shape[-1]
    if k == 0:
        return np.zeros(terms.shape[:-1])
    partial = np.cumsum(terms, axis=-1)
    found = np.maximum(np.sum(partial**2, axis=-1), np.sum((partial[..., -1:] - partial + terms) ** 2, axis=-1))
    for lanes in _LANES:
        if lanes >= k:
            break
        padded = np.concatenate([terms, np.zeros((*terms.shape[:-1], -k % lanes))], axis=-1)
        inside = np.cumsum(padded.reshape(*terms.shape[:-1], -1, lanes), axis=-2)
        combined = np.cumsum(inside[..., -1, :], axis=-1)
        found = np.maximum(found, np.sum(inside**2, axis=(-1, -2)) + np.sum(combined**2, axis=-1))
    return np.asarray(found + np.sum(terms**2, axis=-1))


def honest_error(terms: Array, arithmetic: Arithmetic) -> Array:
    """The largest error of emulated sums in the accumulator, in natural order, its reverse and in eight lanes."""
    if terms.shape[-1] == 0:
        return np.zeros(terms.shape[:-1])
    fmt = arithmetic.accumulator
    exact = np.sum(terms, axis=-1)
    orders = (Order("sequential"), Order("reversed"), Order("lanes", 8))
    with np.errstate(over="ignore", invalid="ignore"):
        errors = [np.abs(sum_terms(terms, fmt, order) - exact) for order in orders]
        return np.asarray(np.nan_to_num(np.max(errors, axis=0), nan=np.inf, posinf=np.inf))

"""Integers whose every partial sum, in any order, the declared accumulator holds exactly.

The magnitudes of one sum add up to at most 2^p units, p the accumulator's precision, so no order rounds before the
end and the only conforming answer is the exact sum, rounded once to the output format. Partial sums come near the
top of that budget while the result is a small integer (terms meet partners that nearly cancel them), so a narrow
partial result shows even through a narrow output. The bits of each product lie in one operand, in the other, or in
both: an operand cut to fewer bits shows as well.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from kernel_contracts.measurement.inputs.base import Argument, Array, Family, Request, TensorSpec
from kernel_contracts.measurement.inputs.operands import Plan, Rows, Sum, plan, quiet, whole
from kernel_contracts.numerics.rounding import round_to

Positions = NDArray[np.int64]

_HEAVY, _LIGHT, _SHARED = 0, 1, 2
"""Where the bits of a product lie: all in the carrier, all in the partner, or split."""


def make(request: Request, arguments: tuple[Argument, ...] = ()) -> dict[str, Array]:
    planned = plan(request)
    if not planned.sums:
        return {t.name: _small(t, request) for t in planned.free}
    out = quiet(planned)
    for spec in planned.loose:
        out[spec.name] = _signs(spec, request) * out[spec.name]
    for one in planned.sums:
        tables, unit = _sum(one, planned, request)
        out |= tables
        for spec in planned.free:  # units of the sums, powers of two, so that a bias and a scale both stay exact
            value = round_to(unit * 2.0 ** request.rng.integers(0, 2, spec.shape), spec.format, overflow="saturate")
            out[spec.name] = value * _signs(spec, request)
    return out


def _signs(spec: TensorSpec, request: Request) -> Array:
    return np.ones(spec.shape) if spec.positive else request.rng.choice([-1.0, 1.0], spec.shape)


def _small(spec: TensorSpec, request: Request) -> Array:
    """Where nothing is summed: integers so small that products of all inputs are exact in accumulator and output."""
    bits = (request.accumulator.precision - 1) // len(request.reals)
    if request.output.is_real:
        bits = min(bits, (int(np.frexp(request.output_top)[1]) - 2) // len(request.reals))
    bound = min(2.0 ** max(min(bits, spec.format.precision), 0), np.floor(spec.top))
    return np.floor(request.rng.uniform(0 if not spec.positive else 1, bound + 1, spec.shape)) * _signs(spec, request)


@dataclass(frozen=True, slots=True)
class _Budget:
    """In units of one product: what the sum of magnitudes may reach, and what the result may reach."""

    total: float
    result: float
    unit_a: float
    unit_b: float
    cap_a: float
    cap_b: float


def _unit(rows: Rows, request: Request, products: bool) -> float:
    """The power of two that stands for 1: small where a limit is tight, any that suits where nothing multiplies."""
    if rows.high < 6:
        bits = min(rows.spec.format.precision, 10)
        return 2.0 ** max(rows.high - bits + 1, rows.low)
    if products:
        return 1.0
    needed = request.accumulator.precision - int(np.log2(max(rows.terms, 1)))
    return 2.0 ** int(np.clip(request.rng.integers(-4, 5), rows.low, max(rows.high - needed, rows.low)))


def _budget(one: Sum, planned: Plan, request: Request) -> _Budget:
    total = 2.0**request.accumulator.precision
    total = max(total - 8, total / 2)  # the rest is for a bias
    unit_a = _unit(one.carrier, request, request.products)
    cap_a = np.floor(one.carrier.spec.top / unit_a)
    unit_b, cap_b = 1.0, 1.0
    if one.partner:
        unit_b = _unit(one.partner, request, True)
        cap_b = np.floor(one.partner.spec.top / unit_b)
    loose = float(np.prod([2.0 ** min(Rows(t).high, 0) for t in planned.loose]))
    room = request.headroom / (unit_a * unit_b * loose)
    result = min(room, total)
    if one.positive or planned.loose:  # nothing is sure to cancel
        total = result
    return _Budget(total, result, unit_a, unit_b, max(cap_a, 1.0), max(cap_b, 1.0))


def _sum(one: Sum, planned: Plan, request: Request) -> tuple[dict[str, Array], float]:
    """Both operands of one sum, and the value of one unit."""
    carrier, partner, rng = one.carrier, one.partner, request.rng
    budget = _budget(one, planned, request)
    a, b = carrier.zeros(), partner.zeros() if partner else np.zeros((1, carrier.terms))
    if carrier.terms:
        wide = request.output.is_real and budget.result >= budget.total
        wide = wide and request.output.precision >= request.accumulator.precision
        if one.positive:
            _one_signed(one, budget, request, a, b, np.arange(carrier.terms))
        elif wide and rng.random() < 0.5:
            _one_signed(one, budget, request, a, b, _active(carrier.terms, budget.total, rng))
            a *= _row_signs(a, rng)
            b *= _row_signs(b, rng) if partner else 1.0
        else:
            _cancelling(one, budget, request, a, b)
    out = {carrier.spec.name: carrier.tensor(a * budget.unit_a)}
    if partner:
        out[partner.spec.name] = partner.tensor(b * budget.unit_b)
    return out, budget.unit_a * budget.unit_b


def _row_signs(table: Array, rng: np.random.Generator) -> Array:
    return rng.choice([-1.0, 1.0], (table.shape[0], 1))


def _active(terms: int, total: float, rng: np.random.Generator) -> Positions:
    """Positions that are not zero, in order: all of them half the time, else fewer, whose terms are larger.

    At least eight, so that partial sums grow, and never so many that a term has less than four units.
    """
    few = min(terms, 8)
    count = terms if rng.random() < 0.5 else int(np.exp(rng.uniform(np.log(few), np.log(terms))))
    count = max(1, min(terms, count, int(total // 4)))
    return np.sort(rng.choice(terms, count, replace=False))


def _limits(
    one: Sum, budget: _Budget, share: float, count: int, rng: np.random.Generator
) -> tuple[Positions, Array, Array]:
    """For each of `count` terms where its bits lie, and the largest carrier and partner that keep it within `share`."""
    share = max(share, 1.0)
    if one.partner is None:
        heavy = np.full(count, min(share, budget.cap_a))
        return np.full(count, _HEAVY), heavy, np.ones(count)
    kind = rng.integers(0, 3, count)
    split = np.exp2(np.floor(rng.uniform(0, np.log2(share) + 1, count)))
    split = np.minimum(split, min(share, budget.cap_a))
    limit_a = np.select([kind == _HEAVY, kind == _LIGHT], [min(share, budget.cap_a), 1.0], split)
    limit_b = np.select([kind == _HEAVY, kind == _LIGHT], [1.0, min(share, budget.cap_b)], share / split)
    return kind, limit_a, np.minimum(limit_b, budget.cap_b)


def _one_signed(one: Sum, budget: _Budget, request: Request, a: Array, b: Array, at: Positions) -> None:
    """Terms of one sign: partial sums reach the whole budget, and so does the result."""
    _, limit_a, limit_b = _limits(one, budget, budget.total / len(at), len(at), request.rng)
    a[:, at] = whole(limit_a, one.carrier.spec.format, a.shape[0], request.rng)
    b[:, at] = whole(limit_b, one.partner.spec.format, b.shape[0], request.rng) if one.partner else 1.0


def _cancelling(one: Sum, budget: _Budget, request: Request, a: Array, b: Array) -> None:
    """Terms that climb to half the budget, partners that nearly undo them, and one or two terms left over."""
    rng = request.rng
    at = _active(a.shape[1], budget.total, rng)
    pairs = (len(at) - 1) // 2
    left = rng.choice(at, len(at) - 2 * pairs, replace=False)
    rest = np.setdiff1d(at, left)
    if rng.random() < 0.3:
        rng.shuffle(rest)  # otherwise in order: the climb comes first, which is worst for sums taken in sequence
    up, down = rest[:pairs], rng.permutation(rest[pairs:])

    narrow = 2.0**request.output.precision if request.output.is_real and rng.random() < 0.75 else np.inf
    for_left = min(budget.result, narrow, budget.total / 4 if pairs else budget.total)
    _left_over(one, budget, request, (a, b), left, for_left / len(left))
    if pairs:
        share = (budget.total - for_left) / (2 * pairs)
        _pairs(one, budget, request, (a, b), (up, down), share)


def _left_over(
    one: Sum, budget: _Budget, request: Request, tables: tuple[Array, Array], at: Positions, share: float
) -> None:
    (a, b), rng = tables, request.rng
    _, limit_a, limit_b = _limits(one, budget, share, len(at), rng)
    a[:, at] = whole(limit_a, one.carrier.spec.format, a.shape[0], rng) * rng.choice([-1, 1], (a.shape[0], len(at)))
    b[:, at] = whole(limit_b, one.partner.spec.format, b.shape[0], rng) if one.partner else 1.0


def _pairs(
    one: Sum,
    budget: _Budget,
    request: Request,
    tables: tuple[Array, Array],
    positions: tuple[Positions, Positions],
    share: float,
) -> None:
    """Pairs x*y and -(x - d)*y, d in {-1, 0, 1}: exact cancellation would hide an operand that was cut."""
    (a, b), (up, down), rng = tables, positions, request.rng
    count = len(up)
    kind, limit_a, limit_b = _limits(one, budget, share, count, rng)
    odd = np.zeros(count, dtype=bool)  # few enough that the result stays small
    odd[rng.choice(count, int(min(count, max(budget.result, 0), 2.0 ** (request.output.precision + 1))), False)] = True

    def side(rows: Rows | None, limit: Array, table: Array, carries: NDArray[np.bool_]) -> tuple[Array, Array]:
        if rows is None:
            return np.ones((1, count)), np.ones((1, count))
        room = (limit >= 3) & carries & odd
        x = whole(limit - room, rows.spec.format, table.shape[0], rng)
        idle = (limit < 2) & (rng.random(x.shape) < 0.125)  # a factor of zero now and then
        x = np.where(idle & ~carries, 0.0, x)
        near = x - rng.integers(-1, 2, x.shape) * room
        fits = round_to(near, rows.spec.format) == near
        return x, np.where(fits, near, x)

    x, near_x = side(one.carrier, limit_a, a, kind == _HEAVY)
    y, near_y = side(one.partner, limit_b, b, kind == _LIGHT)
    both = rng.choice([-1.0, 1.0], count) if one.partner else np.ones(count)
    sign_a, sign_b = _row_signs(a, rng) * both, (_row_signs(b, rng) if one.partner else 1.0) * both
    a[:, up], a[:, down] = sign_a * x, -sign_a * near_x
    b[:, up], b[:, down] = sign_b * y, sign_b * near_y


FAMILY = Family(
    "exact",
    "integers whose every partial sum is exact in the declared accumulator",
    make,
    frozenset({"accumulator_narrowed", "operand_coerced", "saturated", "overflowed", "tail_dropped"}),
    probe=True,
)

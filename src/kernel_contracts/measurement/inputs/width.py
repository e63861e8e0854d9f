"""L, -L and 2^(s-q) at three random places of each sum, L = 1.5 * 2^s, zeros elsewhere, q sweeping over the rows.

With b significant bits L + 2^(s-q) and -L + 2^(s-q) are exact for q < b and rounded for q >= b (with L = 2^s the
second would survive q = b), so the smallest q at which an output lost its small term is the number of bits that the
accumulator really has. The answer 2^(s-q) names its own q, whatever the layout of the output; a term added after
the large ones have met is kept, hence many rows.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from kernel_contracts.measurement.inputs.base import Arguments, Array, Family, Request, Values
from kernel_contracts.measurement.inputs.operands import Rows, Sum, plan, quiet

_LARGE = 1.5


def _make(request: Request, arguments: Arguments) -> dict[str, Array]:
    planned = plan(request)
    out = quiet(planned)
    for one in planned.sums:
        other = one.partner
        if other and not other.spec.positive and (one.carrier.spec.positive or other.count > 4 * one.carrier.count):
            one = Sum(other, one.carrier)  # the signs need a factor without precondition, the sweep needs rows
        out |= _rows(one, request, bool(planned.loose))
    return out


@dataclass(frozen=True, slots=True)
class _Window:
    """Exponents: large product 1.5 * 2^s, partner 2^high at large terms, 2^-low elsewhere; the q within reach."""

    s: int
    high: int
    low: int
    first: int
    last: int


def _window(one: Sum, request: Request, alone: bool) -> _Window:
    """The q that formats can express; with narrow formats the partner stretches it to either end, by chance."""
    a, b = one.carrier, one.partner
    bits = request.accumulator.precision - 1
    real = request.output.is_real
    floor = max(request.output.emin, request.accumulator.emin) if real else request.accumulator.emin
    ceiling = int(np.frexp(min(request.headroom, 2.0**1000))[1]) - 1
    high = low = 0
    most = int(np.floor(np.log2(a.spec.top / _LARGE)))
    missing = bits - (most - a.low)
    if b and missing > 0 and request.rng.random() < 0.7:
        high = int(np.clip(missing, 0, max(b.high, 0)))
        low = int(np.clip(missing - high, 0, max(-b.low, 0)))
    if b and b.high < 0:
        high, low = b.high, -b.high
    if alone or one.positive:  # the large terms may not cancel
        high = min(high, max(ceiling - a.low, 0))
    top = min(most, ceiling - high) if alone or one.positive else most
    s = max(min(top, max(bits + max(floor, a.low - low), 0)), a.low) + high
    first = max(1, s + low - a.high, s - ceiling)
    last = min(bits, s + low - a.low, s - floor)
    return _Window(s, high, low, first, last)


def _rows(one: Sum, request: Request, alone: bool) -> dict[str, Array]:
    """The carrier has its small term in several places, of which each row of the partner lets one through."""
    a, b, rng = one.carrier, one.partner, request.rng
    window = _window(one, request, alone)
    table = a.zeros()
    order = rng.permutation(a.terms)
    slots = min(a.terms, max(3, min(a.terms // 2, 32)))
    large, small = order[: slots - 1], order[slots - 1 :]
    rows = np.arange(a.count)
    copies = min(len(small), 8, b.count) if b and not b.spec.positive else 1
    if a.terms:
        unit = np.exp2(window.s + window.low - _sweep(a, window, rng))
        if copies > 1:
            table[:, small[:copies]] = unit[:, None]
        else:
            table[rows, rng.choice(small, a.count)] = unit
    if a.terms > 2 and window.last >= window.first:
        chosen = np.argsort(rng.random((a.count, len(large))), axis=1)[:, :2]
        table[rows, large[chosen[:, 0]]] = _LARGE * 2.0 ** (window.s - window.high)
        if not one.positive:
            table[rows, large[chosen[:, 1]]] = -_LARGE * 2.0 ** (window.s - window.high)
    out = {a.spec.name: a.tensor(table)}
    if b:
        out[b.spec.name] = b.tensor(_gate(b, large, small[:copies], window))
    return out


def _sweep(rows: Rows, window: _Window, rng: np.random.Generator) -> NDArray[np.int64]:
    """A q for each row, from a random start: evenly spread where rows are few."""
    count = max(window.last - window.first + 1, 1)
    index = np.arange(rows.count)
    if rows.count < count:
        index = index * count // max(rows.count, 1)
    q = window.first + (index + rng.integers(count)) % count
    q = np.clip(q, window.s + window.low - rows.high, window.s + window.low - rows.low)
    return np.asarray(q, dtype=np.int64)


def _gate(partner: Rows, large: NDArray[np.int64], small: NDArray[np.int64], window: _Window) -> Array:
    b = np.full((partner.count, partner.terms), 2.0**-window.low)
    b[:, large] = 2.0**window.high
    if len(small) > 1:
        b[:, small] = 0.0
        b[np.arange(partner.count), small[np.arange(partner.count) % len(small)]] = 2.0**-window.low
    return b


def _read(request: Request, inputs: Values, outputs: Values, oracle: Values) -> dict[str, float]:
    """`effective_bits`: the smallest q whose small term is gone, the declared bits where none is."""
    planned = plan(request, swap=False)
    if not planned.sums or planned.sums[0].positive or planned.sums[0].carrier.terms < 3:
        return {}
    one = planned.sums[0]
    largest = float(np.abs(inputs[one.carrier.spec.name]).max(initial=0.0))
    if one.partner:
        largest = _largest_product(one, inputs)
    declared = request.accumulator.precision
    bits, seen = declared, False
    for name, right in oracle.items():
        got = np.asarray(outputs[name], dtype=np.float64) if name in outputs else None
        right = np.asarray(right, dtype=np.float64)
        if got is None or got.shape != right.shape or not largest:
            continue
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            mantissa, exponent = np.frexp(largest / _LARGE / right)
            valid = np.isfinite(right) & (mantissa == 0.5) & (exponent > 1) & (exponent <= declared)
            lost = valid & (got != right) & (np.abs(got - right) <= largest / 2)
        seen |= bool(valid.any())
        bits = min(bits, int((exponent[lost] - 1).min(initial=declared)))
    return {"effective_bits": float(bits)} if seen else {}


def _largest_product(one: Sum, inputs: Values) -> float:
    """The large term of the sums: the largest product of facing factors."""
    assert one.partner is not None
    spread = [
        np.abs(np.moveaxis(np.asarray(inputs[r.spec.name]), r.spec.contracted, range(len(r.spec.contracted))))
        .reshape(r.terms, -1)
        .max(axis=1, initial=0.0)
        for r in (one.carrier, one.partner)
    ]
    return float((spread[0] * spread[1]).max(initial=0.0))


FAMILY = Family(
    "width",
    "a large term, its negation and a small one: reads the accumulator's bits",
    _make,
    frozenset({"accumulator_narrowed"}),
    probe=True,
    reader=_read,
)

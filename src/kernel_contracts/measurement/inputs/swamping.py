"""One large term, its negation, and small odd integers at random places around them.

In units of the small ones the magnitudes add up to at most 2^p, so the declared accumulator keeps every bit in every
order. An accumulator a few bits narrower drops whatever it meets while only one of the large terms is in the sum.
"""

from __future__ import annotations

import numpy as np

from kernel_contracts.measurement.inputs.base import Arguments, Array, Family, Request
from kernel_contracts.measurement.inputs.operands import Rows, Sum, plan, quiet


def _make(request: Request, arguments: Arguments) -> dict[str, Array]:
    planned = plan(request)
    out = quiet(planned)
    alone = bool(planned.loose)
    for one in planned.sums:
        # A factor that must be positive cannot carry the signs; the other one may.
        if one.carrier.spec.positive and one.partner and not one.partner.spec.positive:
            one = Sum(one.partner, one.carrier)
        out |= _swamp(one, request, alone)
    return out


def _exponents(one: Sum, wanted: int, request: Request) -> tuple[int, int, int, int]:
    """How far apart large and small terms can lie: exponents of the large and of the small factor, for both operands.

    The small terms are ones as long as the formats reach `wanted` binades above that, and go below one after it.
    """
    a, b = one.carrier, one.partner
    lowest = max(request.output.emin, request.accumulator.emin) if request.output.is_real else request.accumulator.emin
    small_a, small_b = min(0, a.high - 3), min(0, b.high) if b else 0
    large_a = min(max(a.high, small_a), small_a + wanted)
    wanted -= large_a - small_a
    large_b = min(b.high, small_b + wanted) if b else 0
    wanted = min(wanted - (large_b - small_b), max(small_a + small_b - lowest, 0))
    down_a = int(np.clip(small_a - a.low, 0, wanted))
    down_b = int(np.clip(small_b - b.low, 0, wanted - down_a)) if b else 0
    return large_a, down_a - small_a, large_b, down_b - small_b


def _swamp(one: Sum, request: Request, alone: bool) -> dict[str, Array]:
    carrier, partner, rng = one.carrier, one.partner, request.rng
    precision, terms = request.accumulator.precision, carrier.terms
    high_a, low_a, high_b, low_b = _exponents(one, max(precision - 2, 0), request)
    unit = 2.0 ** (-low_a - low_b)
    room = min(request.headroom, 2.0**900) / unit
    if alone or one.positive:  # the large terms may not cancel
        excess = max(int(np.ceil(high_a + high_b + low_a + low_b - np.log2(room))), 0)
        from_a = min(excess, high_a + low_a)
        high_a, high_b = high_a - from_a, high_b - min(excess - from_a, high_b + low_b)
    large = 2.0 ** (high_a + high_b + low_a + low_b) if terms > 2 else 0.0

    order = rng.permutation(terms)
    slots = min(max(2, terms // 4), 16) if terms > 2 else 0
    where, others = order[:slots], order[slots:]
    biggest = 2.0 ** min(carrier.spec.format.precision, 3) - 1
    budget = min(2.0**precision - 2 * large, room)
    biggest = max(1.0, min(biggest, 2 * np.floor((budget + 1) / 2) - 1))
    kept = others[: int(max(budget // biggest, 1))]

    a = carrier.zeros()
    a[:, kept] = (2 * rng.integers(0, int(biggest + 1) // 2, (carrier.count, len(kept))) + 1) * 2.0**-low_a
    if not one.positive:
        a[:, kept] *= rng.choice([-1.0, 1.0], (carrier.count, len(kept)))
    if slots:
        chosen = np.argsort(rng.random((carrier.count, slots)), axis=1)[:, :2]
        rows = np.arange(carrier.count)
        a[rows, where[chosen[:, 0]]] = 2.0**high_a
        if not one.positive:
            a[rows, where[chosen[:, 1]]] = -(2.0**high_a)
    out = {carrier.spec.name: carrier.tensor(a)}
    if partner:
        out[partner.spec.name] = _scale(partner, where, high_b, low_b, request)
    return out


def _scale(partner: Rows, where: np.ndarray, high: int, low: int, request: Request) -> Array:
    """The other factor: 2^high where large terms lie, 2^-low elsewhere, one sign a row."""
    b = np.full((partner.count, partner.terms), 2.0**-low)
    b[:, where] = 2.0**high
    if not partner.spec.positive:
        b *= request.rng.choice([-1.0, 1.0], (partner.count, 1))
    return partner.tensor(b)


FAMILY = Family(
    "swamping",
    "a large term and its negation among small odd integers",
    _make,
    frozenset({"accumulator_narrowed", "saturated", "overflowed"}),
    probe=True,
)

"""Powers of two with random signs, a few terms a sum.

Products of powers of two are exact in every format that reaches them, and the few terms of a sum lie within the
accumulator's width, so scaling inputs by 2^s must scale the output bit for bit.
"""

from __future__ import annotations

import numpy as np

from kernel_contracts.measurement.inputs.base import Arguments, Array, Family, Request, TensorSpec
from kernel_contracts.measurement.inputs.operands import Rows, Sum, plan, quiet

_TERMS = 4


def _make(request: Request, arguments: Arguments) -> dict[str, Array]:
    planned = plan(request)
    if not planned.sums:
        return {t.name: _alone(t, request) for t in planned.free}
    out = quiet(planned)
    for one in planned.sums:
        if one.carrier.spec.positive and one.partner and not one.partner.spec.positive:
            one = Sum(one.partner, one.carrier)  # the sparse factor needs zeros
        out |= _sparse(one, request)
    return out


def _signs(rows: Rows, request: Request) -> Array:
    size = (rows.count, rows.terms)
    return np.ones(size) if rows.spec.positive else request.rng.choice([-1.0, 1.0], size)


def _alone(spec: TensorSpec, request: Request) -> Array:
    """Nothing is summed: exponents within the accumulator's width, shared out among the inputs."""
    reach = (request.accumulator.precision - 1) // (2 * len(request.reals))
    sign = np.ones(spec.shape) if spec.positive else request.rng.choice([-1.0, 1.0], spec.shape)
    return sign * np.exp2(_draw(Rows(spec), reach, spec.shape, request))


def _draw(rows: Rows, reach: int, size: tuple[int, ...], request: Request) -> Array:
    """Exponents in a window of 2 * reach binades near one, moved to where the format has them."""
    ceiling = min(rows.high, (int(np.frexp(min(request.headroom, 2.0**1000))[1]) - 1) // 2)
    reach = min(reach, max((ceiling - rows.low) // 2, 0))
    middle = int(np.clip(0, rows.low + reach, max(ceiling - reach, rows.low + reach)))
    return request.rng.integers(middle - reach, middle + reach, size, endpoint=True).astype(np.float64)


def _sparse(one: Sum, request: Request) -> dict[str, Array]:
    carrier, partner, rng = one.carrier, one.partner, request.rng
    terms = carrier.terms if carrier.spec.positive else min(carrier.terms, _TERMS)
    width = request.accumulator.precision - int(np.ceil(np.log2(max(terms, 1))))
    sides = 2 if partner else 1
    reach = max(width // (2 * sides), 0)
    a = _signs(carrier, request) * np.exp2(_draw(carrier, reach, (carrier.count, carrier.terms), request))
    if terms < carrier.terms:
        ranks = np.argsort(rng.random(a.shape), axis=1)
        a = np.where(ranks < terms, a, 0.0)
    out = {carrier.spec.name: carrier.tensor(a)}
    if partner:
        b = _signs(partner, request) * np.exp2(_draw(partner, reach, (partner.count, partner.terms), request))
        out[partner.spec.name] = partner.tensor(b)
    return out


FAMILY = Family(
    "powers",
    "powers of two, few terms a sum",
    _make,
    frozenset({"accumulator_narrowed", "tail_dropped"}),
    probe=True,
)

"""Sums that cancel to about 1/condition of the sum of their magnitudes.

Pairs +v, -v(1 + small) at random positions, and one or two terms that are left over. Random numbers alone give a
condition near sqrt(K); a narrow accumulator hides behind that.
"""

from __future__ import annotations

import numpy as np

from kernel_contracts.measurement.inputs.base import Arguments, Array, Family, Request, number
from kernel_contracts.measurement.inputs.operands import Rows, Sum, plan
from kernel_contracts.numerics.rounding import round_to


def _make(request: Request, arguments: Arguments) -> dict[str, Array]:
    condition = max(number(arguments, 0, 1e6), 1.0)
    out: dict[str, Array] = {}
    for one in plan(request).sums:
        out |= _cancel(one, request, condition)
    return out


def _normal(rows: Rows, request: Request) -> Array:
    """Normal numbers in the format, so that a pair of equal ones cancels after rounding too."""
    size = (rows.count, rows.terms)
    return round_to(np.clip(request.rng.standard_normal(size), -rows.spec.top, rows.spec.top), rows.spec.format)


def _cancel(one: Sum, request: Request, condition: float) -> dict[str, Array]:
    carrier, partner, rng = one.carrier, one.partner, request.rng
    terms = carrier.terms
    a = _normal(carrier, request)
    b = _normal(partner, request) if partner else None
    pairs = terms // 2 if terms == 2 else max(terms - 1, 0) // 2
    order = rng.permutation(terms)
    plus, minus, left = order[:pairs], order[pairs : 2 * pairs], order[2 * pairs :]
    # A pair's own residue, of either sign: lost to rounding where the format is too coarse for it, and then the terms
    # left over alone set the condition. Two terms have none left over, so their residue is kept above the rounding.
    residue = 1 / condition if terms > 2 else max(1 / condition, 2 * carrier.spec.format.u)
    a[:, minus] = -a[:, plus] * (1 + residue * rng.uniform(-1, 1, (carrier.count, pairs)))
    if terms == 2:
        a[:, minus] = -a[:, plus] * (1 + residue)
    share = 2 * pairs / condition / max(len(left), 1) if pairs else 1.0
    if b is None or partner is None:
        a[:, left] *= share
        return {carrier.spec.name: carrier.tensor(a)}
    b[:, minus] = b[:, plus]
    a[:, left] *= share**0.5  # both factors shrink: one alone would leave the range of a narrow format
    b[:, left] *= share**0.5
    return {carrier.spec.name: carrier.tensor(a), partner.spec.name: partner.tensor(b)}


FAMILY = Family(
    "cancelling",
    "sums that cancel to 1/condition of their magnitudes",
    _make,
    frozenset({"accumulator_narrowed", "operand_coerced", "cancelled"}),
    parameters=("condition",),
)

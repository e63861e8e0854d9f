"""A 0/1 matrix that picks one term of each sum, and values that use every bit of their format.

The output must be a copy, rounded once to its format: no summation error stands in the way, so an operand that is
cut to a narrower format, and an index that is off by one, show exactly.
"""

from __future__ import annotations

import numpy as np

from kernel_contracts.measurement.inputs.base import Arguments, Array, Family, Request
from kernel_contracts.measurement.inputs.exact import make as exact
from kernel_contracts.measurement.inputs.operands import Rows, Sum, plan, quiet
from kernel_contracts.numerics.rounding import round_to


def _make(request: Request, arguments: Arguments) -> dict[str, Array]:
    planned = plan(request)
    if not planned.sums or any(_selector(one) is None for one in planned.sums):
        return exact(request)  # nothing to select with: integers are the next best
    out = quiet(planned)
    for one in planned.sums:
        selector = _selector(one)
        assert selector is not None
        if one.partner is None and not planned.loose:  # a sum of one input: the value itself is the only term
            values = _values(one.carrier, request)
            out[one.carrier.spec.name] = one.carrier.tensor(values * _one_hot(one.carrier, request))
            continue
        out[selector.spec.name] = selector.tensor(_one_hot(selector, request) * 2.0 ** min(selector.high, 0))
        source = one.partner if selector is one.carrier else one.carrier
        if source is not None:
            out[source.spec.name] = source.tensor(_values(source, request))
        for spec in planned.loose:
            rows = Rows(spec)
            out[spec.name] = rows.tensor(_values(rows, request))
    return out


def _selector(one: Sum) -> Rows | None:
    """The factor that may hold zeros."""
    for rows in (one.carrier, one.partner):
        if rows is not None and not rows.spec.positive:
            return rows
    return None


def _one_hot(rows: Rows, request: Request) -> Array:
    """One 1 in each row; all columns are used before one is used again."""
    table = rows.zeros()
    if rows.terms and rows.count:
        order = request.rng.permutation(max(rows.terms, rows.count)) % rows.terms
        table[np.arange(rows.count), order[: rows.count]] = 1.0
    return table


def _values(rows: Rows, request: Request) -> Array:
    """Full significands, exponents around one, never more bits than the accumulator keeps."""
    fmt, rng = rows.spec.format, request.rng
    size = (rows.count, rows.terms)
    ceiling = int(np.frexp(min(request.headroom, rows.spec.top, 2.0**1000))[1]) - 2
    low = max(min(-6, ceiling), rows.low)
    exponent = rng.integers(low, max(min(6, ceiling), low), size, endpoint=True)
    values = np.ldexp(rng.uniform(1.0, 2.0, size), exponent.astype(np.int32))
    if not rows.spec.positive:
        values *= rng.choice([-1.0, 1.0], size)
    values = round_to(np.clip(values, -rows.spec.top, rows.spec.top), fmt, overflow="saturate")
    if request.accumulator.is_real and request.accumulator.precision < fmt.precision:
        values = round_to(values, request.accumulator, overflow="saturate")
    return values


FAMILY = Family(
    "permutation",
    "one term a sum, using every bit of its format",
    _make,
    frozenset({"operand_coerced", "tail_dropped"}),
    probe=True,
)

"""One number with a full mantissa, everywhere.

A running total then errs in the same direction for as long as its exponent lasts: what random numbers hide by
averaging shows in full, and an order of summation that is deeper than declared gives itself away.
"""

from __future__ import annotations

import numpy as np

from kernel_contracts.measurement.inputs.base import Arguments, Array, Family, Request, TensorSpec, each, number


def _fill(spec: TensorSpec, request: Request, arguments: Arguments) -> Array:
    """The number is drawn from [1, 2) unless an argument names it; scaled down where sums would overflow."""
    value = number(arguments, 0, float(request.rng.uniform(1.0, 2.0)))
    return np.full(spec.shape, min(value, request.largest(spec)))


FAMILY = Family(
    "repeated",
    "one number with a full mantissa, everywhere",
    each(_fill),
    frozenset({"accumulator_narrowed", "order_exceeded", "overflowed", "tail_dropped"}),
    parameters=("value",),
)

"""Uniform numbers in (0, 1].

All of one sign, so partial sums grow with the length: a narrow accumulator stagnates, and a dropped tail is missed
as a share of the whole.
"""

from __future__ import annotations

from kernel_contracts.measurement.inputs.base import Arguments, Array, Family, Request, TensorSpec, each


def _fill(spec: TensorSpec, request: Request, arguments: Arguments) -> Array:
    return 1.0 - request.rng.random(spec.shape)


FAMILY = Family(
    "positive",
    "uniform numbers in (0, 1]",
    each(_fill),
    frozenset({"accumulator_narrowed", "saturated", "tail_dropped"}),
)

"""Numbers just below the largest: whatever grows, overflows."""

from __future__ import annotations

import numpy as np

from kernel_contracts.measurement.inputs.base import Arguments, Array, Family, Request, TensorSpec, each, number


def _fill(spec: TensorSpec, request: Request, arguments: Arguments) -> Array:
    size = spec.top * np.exp2(-request.rng.uniform(0.0, number(arguments, 0, 1.0), spec.shape))
    return np.where(request.rng.random(spec.shape) < 0.5, -size, size)


FAMILY = Family(
    "topmost",
    "numbers between 2^-a of the largest and the largest",
    each(_fill),
    frozenset({"overflowed", "saturated"}),
    parameters=("a",),
)

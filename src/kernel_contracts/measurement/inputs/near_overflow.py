"""Magnitudes as large as keeps every partial sum and the output finite.

A quarter of the range stays free, so a stable kernel is finite in any order; a kernel that squares, or that keeps
its sum in a narrower format, is not.
"""

from __future__ import annotations

import numpy as np

from kernel_contracts.measurement.inputs.base import Arguments, Array, Family, Request, TensorSpec, each


def _fill(spec: TensorSpec, request: Request, arguments: Arguments) -> Array:
    sign = np.where(request.rng.random(spec.shape) < 0.5, -1.0, 1.0)
    return sign * request.largest(spec) * request.rng.uniform(0.5, 1.0, spec.shape)


FAMILY = Family(
    "near_overflow",
    "magnitudes near the top that keep every sum finite",
    each(_fill),
    frozenset({"overflowed", "saturated"}),
)

"""The largest and the smallest magnitudes that keep a stable algorithm finite, mixed with ordinary ones.

Large enough that squares overflow, small enough that squares vanish. Sums of the numbers themselves stay finite;
subnormal inputs belong to another family.
"""

from __future__ import annotations

import numpy as np

from kernel_contracts.measurement.inputs.base import Arguments, Array, Family, Request, TensorSpec, each


def _fill(spec: TensorSpec, request: Request, arguments: Arguments) -> Array:
    rng = request.rng
    largest = request.largest(spec)
    least = min(spec.format.least_normal, largest)
    kind = rng.integers(0, 4, spec.shape)
    ordinary = np.clip(np.abs(rng.standard_normal(spec.shape)), least, largest)
    small = np.minimum(least * rng.uniform(1.0, 2.0, spec.shape), largest)
    size = np.where(kind < 2, largest * rng.uniform(0.5, 1.0, spec.shape), np.where(kind == 2, small, ordinary))
    return np.where(rng.random(spec.shape) < 0.5, -size, size)


FAMILY = Family(
    "extremes",
    "largest, smallest and ordinary magnitudes together",
    each(_fill),
    frozenset({"overflowed", "underflowed", "saturated", "cancelled"}),
)

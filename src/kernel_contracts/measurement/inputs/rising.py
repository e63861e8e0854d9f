"""Sorted ascending along the summed axis.

The running maximum of an online softmax moves at every step, so each rescaling is exercised; a sum meets its
smallest terms first.
"""

from __future__ import annotations

import numpy as np

from kernel_contracts.measurement.inputs.base import Arguments, Array, Family, Request, TensorSpec, each, number


def _fill(spec: TensorSpec, request: Request, arguments: Arguments) -> Array:
    """Normal numbers with a spread of 8 unless an argument says otherwise."""
    largest = request.largest(spec)
    values = np.clip(request.rng.standard_normal(spec.shape) * number(arguments, 0, 8.0), -largest, largest)
    if spec.positive:
        values = np.abs(values)
    if not spec.shape:
        return np.asarray(values)
    return np.sort(values, axis=spec.contracted[-1] if spec.contracted else -1)


FAMILY = Family(
    "rising",
    "sorted ascending along the summed axis",
    each(_fill),
    frozenset({"rescaling_skipped", "cancelled"}),
    parameters=("spread",),
)

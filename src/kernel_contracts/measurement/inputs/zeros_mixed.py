"""Zeros of both signs among ordinary numbers.

Divisions, logarithms and sign-sensitive branches meet their edge; formats without a negative zero get the positive
one.
"""

from __future__ import annotations

import numpy as np

from kernel_contracts.measurement.inputs.base import Arguments, Array, Family, Request, TensorSpec, each


def _fill(spec: TensorSpec, request: Request, arguments: Arguments) -> Array:
    values = request.rng.standard_normal(spec.shape)
    return np.where(request.rng.random(spec.shape) < 0.5, np.copysign(0.0, values), values)


FAMILY = Family("zeros_mixed", "signed zeros and normal numbers", each(_fill), frozenset({"wrong_value"}))

"""Small gradients: normal numbers times 2^-a, which a format with few exponent bits holds with less precision."""

from __future__ import annotations

import numpy as np

from kernel_contracts.measurement.inputs.base import Arguments, Array, Family, Request, TensorSpec, each, number


def _fill(spec: TensorSpec, request: Request, arguments: Arguments) -> Array:
    return np.asarray(request.rng.standard_normal(spec.shape) * 2.0 ** -number(arguments, 0, 12.0))


FAMILY = Family(
    "faint",
    "normal numbers times 2^-a: small gradients",
    each(_fill),
    frozenset({"underflowed"}),
    parameters=("a",),
)

"""About one element in twenty is not zero.

Zeros make exact outputs and leave each sum with a handful of terms, so a wrong index or a skipped element is not
averaged away.
"""

from __future__ import annotations

import numpy as np

from kernel_contracts.measurement.inputs.base import Arguments, Array, Family, Request, TensorSpec, each, number


def _fill(spec: TensorSpec, request: Request, arguments: Arguments) -> Array:
    kept = request.rng.random(spec.shape) < number(arguments, 0, 0.05)
    return np.where(kept, request.rng.standard_normal(spec.shape), 0.0)


FAMILY = Family(
    "sparse", "mostly zeros, 5% normal numbers", each(_fill), frozenset({"tail_dropped"}), parameters=("density",)
)

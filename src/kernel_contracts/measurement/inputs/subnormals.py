"""Subnormal numbers of every size in every input: what a kernel that flushes reads as zero."""

from __future__ import annotations

import numpy as np

from kernel_contracts.measurement.inputs.base import Arguments, Array, Family, Request, TensorSpec, each


def _fill(spec: TensorSpec, request: Request, arguments: Arguments) -> Array:
    digits = spec.format.precision - 1
    whole = np.floor(2.0 ** (digits * request.rng.random(spec.shape)))
    signs = np.where(request.rng.random(spec.shape) < 0.5, -1.0, 1.0)
    return np.asarray(whole * spec.format.least_subnormal * signs)


FAMILY = Family(
    "subnormals",
    "numbers below the least normal one of the format, down to the least of all",
    each(_fill),
    frozenset({"operand_coerced"}),
)

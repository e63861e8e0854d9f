"""A few columns a hundred times larger than the rest.

The shape of real activations: a kernel that picks one scale for a row or a tile pays for it in the small columns.
"""

from __future__ import annotations

import numpy as np

from kernel_contracts.measurement.inputs.base import Arguments, Array, Family, Request, TensorSpec, each, number


def _fill(spec: TensorSpec, request: Request, arguments: Arguments) -> Array:
    values = request.rng.standard_normal(spec.shape)
    if spec.shape and spec.shape[-1]:
        columns = spec.shape[-1]
        chosen = request.rng.choice(columns, max(1, min(4, columns // 16)), replace=False)
        values[..., chosen] *= number(arguments, 0, 100.0)
    largest = request.largest(spec)
    return np.clip(values, -largest, largest)


FAMILY = Family(
    "outlier_columns",
    "normal numbers with a few columns 100 times larger",
    each(_fill),
    frozenset({"accumulator_narrowed", "operand_coerced", "saturated"}),
    parameters=("factor",),
)

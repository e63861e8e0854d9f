"""Descending by blocks: each block lies 100 below the one before it.

After the first block an online softmax must leave its maximum alone, and later blocks contribute nothing; a kernel
that starts each block afresh gets both wrong.
"""

from __future__ import annotations

import numpy as np

from kernel_contracts.measurement.inputs.base import Arguments, Array, Family, Request, TensorSpec, each, number


def _fill(spec: TensorSpec, request: Request, arguments: Arguments) -> Array:
    values = request.rng.standard_normal(spec.shape)
    if not spec.shape:
        return np.asarray(values)
    axis = spec.contracted[-1] if spec.contracted else len(spec.shape) - 1
    extent = spec.shape[axis]
    block = np.arange(extent) // int(request.rng.choice([16, 32, 64, 128]))
    largest = request.largest(spec)
    step = min(number(arguments, 0, 100.0), 1.8 * largest / max(int(block.max(initial=0)), 1))
    levels = min(step, 0.9 * largest) - step * block
    along = [1] * len(spec.shape)
    along[axis % len(spec.shape)] = extent
    return np.clip(values + levels.reshape(along), -largest, largest)


FAMILY = Family(
    "falling",
    "blocks that descend along the summed axis",
    each(_fill),
    frozenset({"rescaling_skipped", "cancelled"}),
    parameters=("step",),
)

"""Numbers whose exponentials span a dynamic range r: uniform in [-L, L], L = 4 ln r.

For logits: exp overflows or vanishes for most elements unless the maximum is taken off first.
"""

from __future__ import annotations

import numpy as np

from kernel_contracts.measurement.inputs.base import Arguments, Array, Family, Request, TensorSpec, each, number


def _fill(spec: TensorSpec, request: Request, arguments: Arguments) -> Array:
    reach = 4 * np.log(max(number(arguments, 0, 2.0**16), 1.0))
    reach = min(reach, request.largest(spec))
    return request.rng.uniform(-reach, reach, spec.shape)


FAMILY = Family(
    "range",
    "uniform numbers whose exponentials span a dynamic range",
    each(_fill),
    frozenset({"overflowed", "underflowed", "saturated", "cancelled"}),
    parameters=("r",),
)

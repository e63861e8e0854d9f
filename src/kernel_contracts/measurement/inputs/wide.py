"""Numbers of every size: sign * 2^U(-a, a).

Formats with few exponent bits, and kernels that rescale, lose the small or the large ones. The exponents keep all
sums finite and all products normal.
"""

from __future__ import annotations

import numpy as np

from kernel_contracts.measurement.inputs.base import Arguments, Array, Family, Request, TensorSpec, each, number


def _fill(spec: TensorSpec, request: Request, arguments: Arguments) -> Array:
    """`a` is 40 unless an argument says otherwise, and at most what keeps sums finite and products normal."""
    largest = np.log2(max(request.largest(spec), spec.format.least_normal))
    product = -request.accumulator.emin / 2 if request.products else np.inf
    reach = min(number(arguments, 0, 40.0), largest, -spec.format.emin, product)
    reach = max(reach, -largest, 0.0)  # where even one is too large, all lies just below what is not
    exponent = request.rng.uniform(-reach, min(reach, largest), spec.shape)
    return np.where(request.rng.random(spec.shape) < 0.5, -1.0, 1.0) * np.exp2(exponent)


FAMILY = Family(
    "wide",
    "signed numbers spread evenly over many binades",
    each(_fill),
    frozenset({"operand_coerced", "saturated", "overflowed", "underflowed"}),
    parameters=("a",),
)

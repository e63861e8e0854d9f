"""All ones.

A sum then counts its terms: a dropped tail, a doubled element and a stagnating accumulator are read off the result.
"""

from __future__ import annotations

import numpy as np

from kernel_contracts.measurement.inputs.base import Arguments, Array, Family, Request, TensorSpec, each


def _fill(spec: TensorSpec, request: Request, arguments: Arguments) -> Array:
    return np.ones(spec.shape)


FAMILY = Family("ones", "all ones", each(_fill), frozenset({"accumulator_narrowed", "saturated", "tail_dropped"}))

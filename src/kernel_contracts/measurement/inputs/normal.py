"""Standard normal numbers: the ordinary case.

Says little alone: errors average out and every sum stays near its square root. A kernel that fails here fails
everywhere.
"""

from __future__ import annotations

from kernel_contracts.measurement.inputs.base import Arguments, Array, Family, Request, TensorSpec, each


def _fill(spec: TensorSpec, request: Request, arguments: Arguments) -> Array:
    return request.rng.standard_normal(spec.shape)


FAMILY = Family("normal", "standard normal numbers", each(_fill), frozenset({"tail_dropped"}))

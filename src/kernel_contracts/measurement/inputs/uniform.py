"""Signed uniform numbers in [-1, 1].

Bounded and without outliers: what a kernel does to plain data, with no large element to hide behind.
"""

from __future__ import annotations

from kernel_contracts.measurement.inputs.base import Arguments, Array, Family, Request, TensorSpec, each


def _fill(spec: TensorSpec, request: Request, arguments: Arguments) -> Array:
    return request.rng.uniform(-1.0, 1.0, spec.shape)


FAMILY = Family("uniform", "uniform numbers in [-1, 1]", each(_fill), frozenset({"tail_dropped"}))

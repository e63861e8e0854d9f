"""Three distinct values, so that equal elements abound.

For selections: which of several equal maxima, how a sort or a top-k orders them, whether gradients are split.
"""

from __future__ import annotations

from kernel_contracts.measurement.inputs.base import Arguments, Array, Family, Request, TensorSpec, each, number


def _fill(spec: TensorSpec, request: Request, arguments: Arguments) -> Array:
    values = request.rng.standard_normal(max(1, int(number(arguments, 0, 3.0))))
    return request.rng.choice(values, spec.shape)


FAMILY = Family("ties", "few distinct values", each(_fill), frozenset({"tail_dropped"}), parameters=("distinct",))

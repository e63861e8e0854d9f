"""Terms that cancel in equal pairs, however they are made, and one or two that are left over and carry the answer.

Along a summed axis places come in pairs, strewn at random. Both places of a pair hold the same in every operand but
the last, and there opposite numbers: attention's weights of a pair are then equal, and what they weigh cancels. The
answer is a small part of what passes through the accumulator, so the order of the additions shows through the
rounding of a far narrower output. Where no axis is summed, or its sum has one term, the numbers are normal.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from kernel_contracts.measurement.inputs.base import Arguments, Array, Family, Request, TensorSpec, number


def _make(request: Request, arguments: Arguments) -> dict[str, Array]:
    gap = max(number(arguments, 0, 2.0**14), 1.0)
    out = {spec.name: _normal(spec, request) for spec in request.reals}
    last = next((t for t in reversed(request.reals) if t.contracted), None)
    if last is None:
        return out
    axis = last.contracted[0]
    terms = last.shape[axis]
    pairs = (terms - 1) // 2
    order = request.rng.permutation(terms)
    plus, minus, left = order[:pairs], order[pairs : 2 * pairs], order[2 * pairs :]
    for spec in request.reals:
        for a in spec.contracted:
            if spec.shape[a] == terms:
                _copy(out[spec.name], a, plus, minus, sign=-1.0 if spec is last and a == axis else 1.0)
    if pairs:
        share = max(1 / gap, last.format.least_subnormal)  # some of what is left over survives its own format
        np.moveaxis(out[last.name], axis, 0)[left] *= share
    return out


def _normal(spec: TensorSpec, request: Request) -> Array:
    largest = min(request.largest(spec), 4.0)
    return np.clip(request.rng.standard_normal(spec.shape), -largest, largest)


def _copy(values: Array, axis: int, plus: NDArray[np.int64], minus: NDArray[np.int64], sign: float) -> None:
    moved = np.moveaxis(values, axis, 0)
    moved[minus] = sign * moved[plus]


FAMILY = Family(
    "opposite",
    "pairs of terms that cancel, and a small one left over",
    _make,
    frozenset({"run_dependent", "load_dependent", "thread_dependent", "alignment_dependent", "batch_dependent"}),
    parameters=("gap",),
)

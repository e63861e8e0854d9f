"""Inputs that differ from one another in one respect only: what an answer must follow.

`kin(0)` is the first of them; `kin(1)` is drawn anew in full, `kin(2)` and `kin(3)` differ in one element of one
tensor, `kin(4)` and `kin(5)` have one zero in every tensor, `kin(6)`, `kin(7)`, ... differ in one whole tensor, the
first, the second and so on. A kernel that answers one of them with what it has kept from another shows it.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from kernel_contracts.errors import UsageError
from kernel_contracts.measurement.inputs.base import Argument, Request, TensorSpec, Values, conform, whole_or_bool

ANEW, ONE_ELEMENT, ONE_ZERO, ONE_TENSOR = 1, (2, 3), (4, 5), 6
_FAR = 8.0


class Kin:
    """The family; see the module."""

    name = "kin"
    doc = "numbers that differ from another draw in all, in one element or in one tensor"
    probe = False
    shows = frozenset({"cached_output", "seed_replay", "zero_mishandled"})
    parameters = ("which",)

    def generate(self, request: Request, *arguments: Argument) -> dict[str, NDArray[Any]]:
        if len(arguments) > len(self.parameters):
            raise UsageError(f"input family {self.name}: got {len(arguments)} arguments, it accepts which")
        which = int(arguments[0]) if arguments and not isinstance(arguments[0], tuple) else 0
        first = {spec.name: _drawn(spec, request, request.rng) for spec in request.tensors}
        rng = np.random.default_rng([int(request.rng.integers(0, 2**62)), which])
        if which == ANEW:
            return {spec.name: _drawn(spec, request, rng) for spec in request.tensors}
        if which in ONE_ELEMENT:
            some = [s for s in request.reals if s.size] or [s for s in request.tensors if s.size]
            if some:
                spec = some[int(rng.integers(len(some)))]
                first[spec.name] = _one_changed(first[spec.name], spec, request, rng)
        elif which in ONE_ZERO:
            for spec in request.reals:
                if spec.size and not spec.positive:
                    first[spec.name].reshape(-1)[int(rng.integers(spec.size))] = 0.0
        elif which >= ONE_TENSOR and which - ONE_TENSOR < len(request.tensors):
            spec = request.tensors[which - ONE_TENSOR]
            first[spec.name] = _drawn(spec, request, rng)
        return first

    def read(self, request: Request, inputs: Values, outputs: Values, oracle: Values) -> dict[str, float]:
        return {}


def _drawn(spec: TensorSpec, request: Request, rng: np.random.Generator) -> NDArray[Any]:
    if spec.is_real:
        return np.asarray(conform(rng.standard_normal(spec.shape), spec))
    other = Request(request.tensors, request.accumulator, request.products, request.output, rng)
    return np.asarray(whole_or_bool(spec, other))


def _one_changed(x: NDArray[Any], spec: TensorSpec, request: Request, rng: np.random.Generator) -> NDArray[Any]:
    out = x.copy()
    place = int(rng.integers(x.size))
    value = out.reshape(-1)[place]
    new = _FAR * rng.standard_normal(spec.shape) if spec.is_real else None
    drawn = _drawn(spec, request, rng) if new is None else conform(new - np.sign(value) * _FAR, spec)
    out.reshape(-1)[place] = drawn.reshape(-1)[place]
    return out


FAMILY = Kin()

"""A common offset plus small noise: the mean is far above the spread.

Variance by the difference of squares, and softmax without its maximum taken off, lose everything here; their stable
forms lose nothing. A range draws the offset log-uniformly.
"""

from __future__ import annotations

import numpy as np

from kernel_contracts.measurement.inputs.base import Argument, Arguments, Array, Family, Request, TensorSpec
from kernel_contracts.numerics.rounding import ulp_of


def shifted(spec: TensorSpec, request: Request, offset: float) -> Array:
    """`offset` and noise some spacings wide, so that it survives rounding to the tensor's format."""
    largest = request.largest(spec)
    offset = float(np.clip(offset, -0.9 * largest, 0.9 * largest))
    spread = max(min(1.0, abs(offset) / 32), 4 * float(ulp_of(offset, spec.format)))
    return np.clip(offset + spread * request.rng.standard_normal(spec.shape), -largest, largest)


def shift_all(request: Request, offset: float) -> dict[str, Array]:
    """Offset the summed tensors; where nothing is summed, all of them."""
    summed = [t for t in request.reals if t.contracted] or list(request.reals)
    return {t.name: shifted(t, request, offset) for t in summed}


def draw(argument: Argument, rng: np.random.Generator) -> float:
    """The argument itself, or a number of either sign drawn log-uniformly from its range of magnitudes."""
    if not isinstance(argument, tuple):
        return float(argument)
    low, high = sorted(max(abs(a), 1e-30) for a in argument)
    return float(np.exp(rng.uniform(np.log(low), np.log(high))) * rng.choice([-1.0, 1.0]))


def _make(request: Request, arguments: Arguments) -> dict[str, Array]:
    return shift_all(request, draw(arguments[0] if arguments else (1.0, 1e4), request.rng))


FAMILY = Family(
    "offset",
    "an offset, drawn from a range, plus small noise",
    _make,
    frozenset({"cancelled", "overflowed"}),
    parameters=("offset",),
)

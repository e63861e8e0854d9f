"""Special values at chosen places: the text of a case says which value stands where, and the data is made from it.

`nan at x[5]`, `inf at a[3], -inf at b[3]`, `nan at x[*]`: a place is a flat position, taken modulo the size so that a
shrunk case keeps it, or every position. What is not special are distinct small numbers whose sums and products are
exact in every format, so that an output that should not change can be compared bit for bit.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from kernel_contracts.errors import ArithmeticScopeError
from kernel_contracts.measurement.inputs.base import Request, TensorSpec, whole_or_bool
from kernel_contracts.numerics.bounded import Array

VALUES: Mapping[str, float] = {"nan": np.nan, "inf": np.inf, "-inf": -np.inf, "-0": -0.0, "0": 0.0}
_PLACE = re.compile(r"(\S+) at (\w+)\[(\d+|\*)\]")
#: No special value: the run that every other one is compared with.
CLEAN = "no special value"


@dataclass(frozen=True, slots=True)
class Injection:
    """One special value at one place, or everywhere in one input."""

    value: str
    name: str
    position: int | None

    def __str__(self) -> str:
        return f"{self.value} at {self.name}[{'*' if self.position is None else self.position}]"


def written(injections: tuple[Injection, ...]) -> str:
    return ", ".join(map(str, injections)) or CLEAN


def parse(text: str) -> tuple[Injection, ...]:
    """The injections that a case's text names; none for a clean run."""
    return tuple(Injection(v, n, None if p == "*" else int(p)) for v, n, p in _PLACE.findall(text))


def base(request: Request) -> dict[str, Array]:
    """Inputs without a special value."""
    return {t.name: _plain(t, request) if t.is_real else whole_or_bool(t, request) for t in request.tensors}


def _plain(spec: TensorSpec, request: Request) -> Array:
    """Small whole numbers where products are summed, else distinct eighths up to 16: never zero, exact everywhere."""
    signs = np.where(request.rng.random(spec.size) < 0.5, -1.0, 1.0)
    if request.products and spec.contracted:
        values: Array = request.rng.integers(1, 5, spec.size) * signs
    else:
        values = (request.rng.permutation(spec.size) % 127 + 1) / 8 * signs
    return (np.abs(values) if spec.positive else values).reshape(spec.shape)


def inject(inputs: Mapping[str, Array], injections: tuple[Injection, ...]) -> dict[str, Array]:
    """Copies with the special values in place. ArithmeticScopeError where an input has no element."""
    out = {n: np.array(x) for n, x in inputs.items()}
    for one in injections:
        x = out[one.name]
        if not x.size:
            raise ArithmeticScopeError(f"{one.name} has no element at these sizes")
        if one.position is None:
            x[...] = VALUES[one.value]
        else:
            x.reshape(-1)[one.position % x.size] = VALUES[one.value]
    return out

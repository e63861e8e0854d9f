"""Gradients of which a few have overflowed: infinities, and NaN where two of them met, among normal numbers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kernel_contracts.errors import UsageError
from kernel_contracts.measurement.inputs.base import Argument, Request, Values
from kernel_contracts.measurement.inputs.normal import FAMILY as NORMAL


@dataclass(frozen=True, slots=True)
class Overflowed:
    """Normal numbers with an infinity or a NaN in some of the arrays that may hold one."""

    name: str = "overflowed"
    doc: str = "normal numbers, some infinite or NaN where the precondition allows it: overflowed gradients"
    probe: bool = False
    shows: frozenset[str] = frozenset({"overflowed"})

    def generate(self, request: Request, *arguments: Argument) -> dict[str, NDArray[Any]]:
        """One element in three arrays of four, where the format has infinities and nothing demands finite numbers."""
        if arguments:
            raise UsageError(f"input family {self.name}: got {len(arguments)} arguments, it accepts no argument")
        out = dict(NORMAL.generate(request))
        for spec in request.reals:
            free = spec.unbounded and spec.limit is None and not spec.positive and spec.format.overflow == "inf"
            if free and spec.size and request.rng.integers(0, 4):
                x = np.array(out[spec.name])
                value = request.rng.choice([np.inf, -np.inf, np.nan])
                x.reshape(-1)[int(request.rng.integers(0, spec.size))] = value
                out[spec.name] = x
        return out

    def read(self, request: Request, inputs: Values, outputs: Values, oracle: Values) -> dict[str, float]:
        return {}


FAMILY = Overflowed()

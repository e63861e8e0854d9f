"""Differences of kind between two answers: NaN against a number, zero against a small one, raised against returned."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np

from kernel_contracts.conformance.recording import Recorded
from kernel_contracts.contracts.evidence import Outcome
from kernel_contracts.numerics.bounded import Array


def ending(r: Recorded) -> str:
    """How a call ended, as a verb phrase."""
    if r.outcome is Outcome.RAISED:
        return f"raised {r.detail.partition(':')[0]}"
    if r.outcome is Outcome.RETURNED:
        return f"returned {r.defect}" if r.defect else "returned"
    return {
        Outcome.CRASHED: f"crashed ({r.detail})",
        Outcome.HUNG: "gave no answer in time",
        Outcome.OUT_OF_MEMORY: "ran out of memory",
    }[r.outcome]


def first_difference(x: Array, y: Array, mask: Array) -> tuple[str, str]:
    """What the two gave at the first element of the mask, as verb phrases."""
    index = tuple(int(i) for i in np.argwhere(mask)[0])
    place = f" at [{', '.join(map(str, index))}]" if index else ""
    return f"gives {x[index]:.6g}{place}", f"gives {y[index]:.6g}{place}"


def _class(x: Array) -> Array:
    """0 for finite numbers, 1 and 2 for the infinities, 3 for NaN."""
    x = np.asarray(x, dtype=np.float64)
    return np.where(np.isnan(x), 3, np.where(np.isposinf(x), 1, np.where(np.isneginf(x), 2, 0)))


def special(x: Array, y: Array) -> Array:
    """Elements where NaN or an infinity stands in one answer and something else in the other."""
    return np.asarray(_class(x) != _class(y))


def vanished(x: Array, y: Array) -> Array:
    """Elements that are zero in one answer only."""
    return np.asarray((x == 0) != (y == 0))


def any_number(x: Array, y: Array) -> Array:
    """Elements that differ as numbers."""
    return np.asarray(~((x == y) | ((x != x) & (y != y))))


PATTERNS: Mapping[str, Callable[[Array, Array], Array]] = {
    "nan": special, "inf": special, "overflow": special, "subnormal": vanished, "index": any_number,
}  # fmt: skip
"""For each feature beyond a contract's domain, the differences that tell two treatments apart."""

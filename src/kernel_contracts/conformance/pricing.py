"""The difference of two answers against what a contract permits between them, element by element."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from kernel_contracts.conformance.arbiter import Gap
from kernel_contracts.conformance.kinds import special
from kernel_contracts.numerics.acceptance import Acceptance
from kernel_contracts.numerics.bounded import Array

CHOICE, VAGUE = "a choice that the reference leaves open", "a bound that admits every answer there"


@dataclass(frozen=True, slots=True)
class Price:
    """What a contract says of one output on one input."""

    free: Array
    """Elements that admit every answer."""
    chosen: bool
    """Free elements are choices that the reference leaves open, such as an index among equals."""
    width: Array
    """How far two admitted answers can be apart: the tolerance to one side and to the other."""

    def meet(self, other: Price) -> Price:
        """Both claims hold; the stricter one counts for each element."""
        return Price(
            np.asarray(self.free & other.free), self.chosen or other.chosen, np.minimum(self.width, other.width)
        )


def price_of(accepted: Acceptance) -> Price:
    """From the interval that a claim admits."""
    with np.errstate(invalid="ignore"):
        width = np.where(accepted.free, np.inf, accepted.above - accepted.below)
    return Price(np.asarray(accepted.free), accepted.admissible is not None, width)


def measured(gap: Gap, price: Price, x: Array, y: Array) -> Gap:
    """The gap with the differences of one output counted in."""
    with np.errstate(invalid="ignore", divide="ignore", over="ignore"):
        same = (x == y) | ((x != x) & (y != y))
        apart = np.where(same, 0.0, np.abs(np.asarray(x, np.float64) - np.asarray(y, np.float64)))
        priced = ~price.free & np.isfinite(price.width) & (price.width > 0) & np.isfinite(apart)
        ratio = float(np.max(np.where(priced, apart / price.width, 0.0), initial=0.0))
    found = replace(gap, ratio=max(gap.ratio, ratio))
    vague = price.free & ~same
    if vague.any():
        found = replace(found, covered=found.covered or (CHOICE if price.chosen else VAGUE))
    if not price.chosen:
        found = replace(found, open=found.open + int(np.count_nonzero(vague & special(x, y))))
    return found

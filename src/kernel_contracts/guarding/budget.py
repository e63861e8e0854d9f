"""How many products may be verified so that the program slows down by no more than was agreed.

Each product is sampled with a probability that is adjusted so that the time spent keeps to the budget: the time that
verifying all would have taken so far is estimated from what was measured, and the rate is the share of it that the
budget pays for. Sampling is random, so that every product is met in the end.
"""

from __future__ import annotations

import random
from dataclasses import dataclass, field

LEAST = 1e-4
"""A rate below this would leave products unmet for too long; the budget is then said to be exceeded instead."""
_LEARN = 8
"""First products, verified whatever the budget says, to learn what a check costs."""


@dataclass(slots=True)
class Budget:
    """Sampling under a budget. Not thread-safe: its owner holds a lock."""

    share: float | None
    """Seconds of checks for a second of the program; None verifies what `sample` says."""
    sample: float
    """Largest sampling rate."""
    rng: random.Random
    spent: float = 0.0
    _fixed: float = 0.0
    """Seconds of bookkeeping that no sampling avoids."""
    _work: float = 0.0
    _cost: float = 0.0
    _demand: float = 0.0
    _checks: int = 0
    rate: float = field(default=1.0)

    def wants(self, work: float, program: float) -> bool:
        """Whether to verify a product that takes `work` (elements to read), after `program` seconds of program."""
        self._demand += work
        if self.share is None:
            self.rate = self.sample
        elif self._checks >= _LEARN:
            full = self._demand * self._cost / self._work
            allowed = self.share * program - self._fixed
            self.rate = min(self.sample, max(LEAST, allowed / full if full > 0 else 1.0))
            if self.spent > self.share * program and self.rng.random() > LEAST:
                return False
        else:
            self.rate = self.sample
        return self.rng.random() < self.rate

    def paid(self, work: float, seconds: float) -> None:
        """A check took so long."""
        self._work += work
        self._cost += seconds
        self._checks += 1
        self.spent += seconds

    def kept(self, seconds: float) -> None:
        """Bookkeeping took so long."""
        self._fixed += seconds
        self.spent += seconds

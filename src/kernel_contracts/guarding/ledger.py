"""The counters of a guard, and the clock of what it guards. Its owner holds a lock."""

from __future__ import annotations

import time
from collections import Counter

from kernel_contracts.guarding.account import Account
from kernel_contracts.guarding.budget import Budget
from kernel_contracts.guarding.kit import Call


class Ledger:
    """What happened so far."""

    def __init__(self, budget: Budget) -> None:
        self.budget = budget
        self.step = 0
        self.suspicious = self.unexamined = self.violations = 0
        self._products = self._checked = 0
        self._flops = self._checked_flops = 0.0
        self._partial: Counter[str] = Counter()
        self._uncovered: Counter[str] = Counter()
        self._entered = 0
        self._began = self._elapsed = 0.0

    def enter(self) -> None:
        if not self._entered:
            self._began = time.perf_counter()
        self._entered += 1

    def leave(self) -> bool:
        """Whether nobody is inside any more."""
        self._entered -= 1
        if self._entered:
            return False
        self._elapsed += time.perf_counter() - self._began
        return True

    @property
    def seconds(self) -> float:
        running = time.perf_counter() - self._began if self._entered else 0.0
        return self._elapsed + running

    def uncovered(self, name: str) -> None:
        self._uncovered[name] += 1

    def ran(self, call: Call) -> tuple[int, bool]:
        """The number of a product, and whether it is to be verified."""
        self._products += 1
        self._flops += call.flops
        program = max(0.0, self.seconds - self.budget.spent)
        return self._products, self.budget.wants(call.work, program)

    def checked(self, call: Call, seconds: float) -> None:
        self._checked += 1
        self._checked_flops += call.flops
        if call.partial:
            self._partial[call.operation] += 1
        self.budget.paid(call.work, seconds)

    def account(self, reused: int) -> Account:
        return Account(
            self._products, self._checked, dict(self._partial), dict(self._uncovered), self._flops,
            self._checked_flops, self.seconds, self.budget.spent, self.suspicious, self.unexamined, self.violations,
            self.budget.rate, reused,
        )  # fmt: skip

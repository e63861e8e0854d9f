"""What a guard reports: wrong products as events, its own account of coverage and cost."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from typing import Any

from kernel_contracts.errors import KernelContractsError
from kernel_contracts.numerics.freivalds.verdict import ProductCheck


@dataclass(frozen=True, slots=True)
class Event:
    """One product that was wrong."""

    step: int
    call: int
    """Number of the product since the guard began."""
    operation: str
    shapes: tuple[tuple[int, ...], ...]
    backward: bool
    check: ProductCheck
    repaired: tuple[tuple[int, ...], ...]
    """Places (batch ..., row) that were redone in place."""

    @property
    def name(self) -> str:
        """The kind of fault."""
        return self.check.name

    def as_json(self) -> dict[str, Any]:
        """Strict JSON data."""
        record = {k: v for k, v in asdict(self).items() if k != "check"}
        return {"record": "guard", **record, "check": self.check.as_json()}

    def __str__(self) -> str:
        when = "backward" if self.backward else "forward"
        done = f"; {len(self.repaired)} rows redone" if self.repaired else ""
        return f"step {self.step}, {when} {self.operation} number {self.call}: {self.check}{done}"


class ProductFaultError(KernelContractsError):
    """A product was wrong and the guard was told to raise. `event` says which."""

    def __init__(self, event: Event) -> None:
        self.event = event
        super().__init__(str(event))


@dataclass(frozen=True, slots=True)
class Account:
    """What a guard did and what it cost."""

    products: int
    """Products that ran."""
    checked: int
    uncovered: dict[str, int]
    """Products of kinds that are not verified, by operation."""
    flops: float
    checked_flops: float
    seconds: float
    """Wall time of the guarded program, checks included."""
    spent: float
    """Seconds of it in checks and in the guard's own bookkeeping. What PyTorch takes to call a dispatch mode comes on
    top, some 15 microseconds for each operation of the program, and cannot be seen from inside."""
    suspicious: int
    """Products that were looked at twice."""
    violations: int
    rate: float
    """Share of the products that is being sampled now."""

    @property
    def overhead(self) -> float:
        """Seconds spent over seconds of the program alone."""
        alone = self.seconds - self.spent
        return self.spent / alone if alone > 0 else 0.0

    @property
    def latency(self) -> float:
        """Expected number of times a persistent fault of one product strikes before it is looked at."""
        return self.products / self.checked if self.checked else math.inf

    def __str__(self) -> str:
        share = self.checked / self.products if self.products else 0.0
        text = (
            f"{self.checked} of {self.products} products verified ({share:.0%}), overhead {self.overhead:.2%}, "
            f"a persistent fault is met after {self.latency:.1f} calls, {self.violations} violations"
        )
        if self.uncovered:
            text += "; not covered: " + ", ".join(f"{n} {op}" for op, n in sorted(self.uncovered.items()))
        return text


def metrics(account: Account, prefix: str = "kernel_contracts_guard") -> str:
    """The account in the text format that Prometheus scrapes."""
    values = {
        "products_total": ("counter", "Products that ran.", account.products),
        "checked_total": ("counter", "Products that were verified.", account.checked),
        "violations_total": ("counter", "Products that were wrong.", account.violations),
        "suspicious_total": ("counter", "Products that were looked at twice.", account.suspicious),
        "uncovered_total": ("counter", "Products of kinds that are not verified.", sum(account.uncovered.values())),
        "seconds_total": ("counter", "Seconds of the guarded program.", account.seconds),
        "spent_seconds_total": ("counter", "Seconds spent on verification.", account.spent),
        "sampling_ratio": ("gauge", "Share of the products that is sampled.", account.rate),
    }
    lines = []
    for name, (kind, words, value) in values.items():
        lines += [f"# HELP {prefix}_{name} {words}", f"# TYPE {prefix}_{name} {kind}", f"{prefix}_{name} {value:g}"]
    return "\n".join(lines) + "\n"

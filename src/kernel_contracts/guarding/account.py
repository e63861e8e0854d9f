"""What a guard did and what it cost: in words, as data, and as text for Prometheus."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Account:
    """What a guard did and what it cost."""

    products: int
    """Products that ran."""
    checked: int
    partial: dict[str, int]
    """Those of them that are verified in a sample of their rows, and for gross errors elsewhere, by operation."""
    uncovered: dict[str, int]
    """Products of kinds that are not verified, by operation."""
    flops: float
    checked_flops: float
    seconds: float
    """Wall time of the guarded program, checks included."""
    spent: float
    """Seconds of it in checks and in the guard's own bookkeeping. What PyTorch takes to call a dispatch mode comes on
    top, some 15 to 30 microseconds for each operation of the program, and cannot be seen from inside."""
    suspicious: int
    """Products that were looked at twice."""
    unexamined: int
    """Suspicious products whose memory had changed before a second look was possible: neither right nor wrong."""
    violations: int
    rate: float
    """Share of the products that is being sampled now."""
    reused: int
    """Passes over weights that were saved since the weight had not changed."""

    @property
    def overhead(self) -> float:
        """Seconds spent over seconds of the program alone."""
        alone = self.seconds - self.spent
        return self.spent / alone if alone > 0 else 0.0

    @property
    def latency(self) -> float:
        """Expected number of times a persistent fault of one product strikes before it is looked at."""
        return self.products / self.checked if self.checked else math.inf

    def as_json(self) -> dict[str, Any]:
        """Strict JSON data."""
        return {"record": "guard_account", **asdict(self), "overhead": self.overhead}

    def __str__(self) -> str:
        share = self.checked / self.products if self.products else 0.0
        text = (
            f"{self.checked} of {self.products} products verified ({share:.0%}), overhead {self.overhead:.2%}, "
            f"a persistent fault is met after {self.latency:.1f} calls, {self.violations} violations"
        )
        if self.unexamined:
            text += f"; {self.unexamined} suspicious products had changed before a second look"
        if self.partial:
            text += "; in a sample of rows: " + _counts(self.partial)
        if self.uncovered:
            text += "; not covered: " + _counts(self.uncovered)
        return text


def _counts(by_name: dict[str, int]) -> str:
    return ", ".join(f"{n} {op}" for op, n in sorted(by_name.items()))


@dataclass(frozen=True, slots=True)
class Metric:
    """One number for a monitoring system."""

    name: str
    kind: str
    """`counter` or `gauge`."""
    words: str
    value: float


def measured(account: Account) -> tuple[Metric, ...]:
    """The account as metrics; counters bear no suffix."""
    a = account
    return (
        Metric("products", "counter", "Products that ran.", a.products),
        Metric("checked", "counter", "Products that were verified.", a.checked),
        Metric("violations", "counter", "Products that were wrong.", a.violations),
        Metric("suspicious", "counter", "Products that were looked at twice.", a.suspicious),
        Metric("unexamined", "counter", "Suspicious products that had changed too soon.", a.unexamined),
        Metric("partial", "counter", "Products verified in a sample of rows.", sum(a.partial.values())),
        Metric("uncovered", "counter", "Products of kinds that are not verified.", sum(a.uncovered.values())),
        Metric("seconds", "counter", "Seconds of the guarded program.", a.seconds),
        Metric("spent_seconds", "counter", "Seconds spent on verification.", a.spent),
        Metric("sampling_ratio", "gauge", "Share of the products that is sampled.", a.rate),
    )


def metrics(account: Account, prefix: str = "kernel_contracts_guard") -> str:
    """The account in the text format that Prometheus scrapes."""
    lines = []
    for m in measured(account):
        name = f"{prefix}_{m.name}" + ("_total" if m.kind == "counter" else "")
        lines += [f"# HELP {name} {m.words}", f"# TYPE {name} {m.kind}", f"{name} {m.value:g}"]
    return "\n".join(lines) + "\n"

"""What a guard reports of a wrong product."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from kernel_contracts.errors import KernelContractsError
from kernel_contracts.guarding.kit import Verdict


@dataclass(frozen=True, slots=True)
class Event:
    """One product that was wrong."""

    step: int
    call: int
    """Number of the product since the guard began."""
    operation: str
    shapes: tuple[tuple[int, ...], ...]
    backward: bool
    check: Verdict
    repaired: tuple[tuple[int, ...], ...]
    """Places (batch ..., row) that were redone in place."""

    @property
    def name(self) -> str:
        """The kind of fault."""
        return self.check.name

    def as_json(self) -> dict[str, Any]:
        """Strict JSON data."""
        return {
            "record": "guard", "step": self.step, "call": self.call, "operation": self.operation,
            "shapes": [list(s) for s in self.shapes], "backward": self.backward,
            "repaired": [list(r) for r in self.repaired], "check": self.check.as_json(),
        }  # fmt: skip

    def __str__(self) -> str:
        when = "backward" if self.backward else "forward"
        done = f"; {len(self.repaired)} rows redone" if self.repaired else ""
        return f"step {self.step}, {when} {self.operation} number {self.call}: {self.check}{done}"


class ProductFaultError(KernelContractsError):
    """A product was wrong and the guard was told to raise. `event` says which."""

    def __init__(self, event: Event) -> None:
        self.event = event
        super().__init__(str(event))

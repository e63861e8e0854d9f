"""What looking at a call takes: secrets, thin passes, kept weights, and the verdict of a second look."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Protocol

from kernel_contracts.guarding.arithmetic import Declared, declared
from kernel_contracts.guarding.thin import Thin
from kernel_contracts.guarding.weights import Weights


@dataclass(frozen=True, slots=True)
class Kit:
    """Tools of one thread for one device."""

    thin: Thin
    weights: Weights
    false_alarm: float
    uneven: set[Any] = field(default_factory=set)
    """Kinds of calls whose operands are too uneven for statistics from a sample."""
    slanted: set[Any] = field(default_factory=set)
    """Kinds of calls for which a sample does if means are taken into account."""

    def declared(self, call: Any) -> Declared:
        """What PyTorch's settings allow the call to do."""
        return declared(call.a)


class Unseen:
    """Says that an operation belongs to a family that is verified, but not in this form."""


UNSEEN = Unseen()


class Verdict(Protocol):
    """What a second look says."""

    @property
    def ok(self) -> bool: ...

    @property
    def name(self) -> str:
        """The kind of fault."""

    def as_json(self) -> dict[str, Any]:
        """Strict JSON data."""


class Call(Protocol):
    """One operation that ran, and how to verify it."""

    @property
    def operation(self) -> str: ...

    @property
    def partial(self) -> bool:
        """Whether no more than a sample of the result's elements is verified to the last digit."""

    @property
    def work(self) -> float:
        """Elements to read."""

    @property
    def flops(self) -> float:
        """Operations of the call itself."""

    @property
    def tensors(self) -> tuple[Any, ...]:
        """Operands and results."""

    @property
    def result(self) -> Any:
        """A tensor of the result: where it lies decides how it is looked at."""

    def glance(self, kit: Kit, *, fresh: bool = False) -> tuple[Any, Any]:
        """The first look: whether the call is suspicious, a bool or a scalar on the device; and what it saw."""

    def unchanged(self, kit: Kit, seen: Any) -> bool:
        """Whether operands and results are what they were at the first look."""

    def examine(self, kit: Kit, seed: int) -> Verdict:
        """The second look: nothing but this accuses."""

    def repair(self, kit: Kit, seed: int, again: Callable[[], Any]) -> tuple[tuple[int, ...], ...]:
        """Wrong places redone in place by calling the operation again; none where that does not help."""

"""A contract's own program as a kernel with several schedules: each a legal order of summation, one of them replaced.

A call without a schedule takes the first, so a fault in the last candidate stays hidden from whoever does not ask for
it, as one stays hidden in the cache of a tuner.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from kernel_contracts.contracts.model import Bound, Contract
from kernel_contracts.measurement.calls import ArrayIn, CallResult, Way
from kernel_contracts.measurement.emulated import Emulated, When
from kernel_contracts.measurement.schedule_space import Space
from kernel_contracts.numerics.program import Program
from kernel_contracts.numerics.summation import Order

_ANY = (
    Order("sequential"), Order("blocked", 16), Order("split", 4), Order("lanes", 8), Order("pairwise"),
    Order("blocked", 32),
)  # fmt: skip


def orders_of(bound: Bound) -> tuple[Order, ...]:
    """Orders that the declared summation admits, at least two entries so that there is something to compare."""
    context = bound.context
    if context.summation == "any":
        return _ANY
    return (Order(context.summation, context.block if context.summation in ("blocked", "split") else 0),) * 2


class Candidates(Emulated):
    """The program under several orders; `program`, where it is given, is what the last schedule runs."""

    def __init__(
        self, contract: Contract, bound: Bound, program: Program | None = None, when: When | None = None
    ) -> None:
        super().__init__(contract, bound, program, when=when, steady=True)
        self.orders = orders_of(bound)
        self._right = Emulated(contract, bound, steady=True)

    @property
    def last(self) -> int:
        return len(self.orders) - 1

    def schedules(self, parameter: str, dims: Mapping[str, int]) -> Space:
        """The orders by name."""
        labels = tuple(f"{k}: {order}" for k, order in enumerate(self.orders))
        tiles = {o.size for o in self.orders if o.name == "blocked"}
        return Space("parameter", labels, tuple(sorted(tiles)))

    def call(
        self,
        arrays: Sequence[ArrayIn],
        scalars: Mapping[str, Any] = {},
        *,
        poison: Sequence[tuple[tuple[int, ...], str]] = (),
        order: Order | None = None,
        way: Way | None = None,
    ) -> CallResult:
        index = 0 if way is None or way.index is None else way.index
        order = order or self.orders[index]
        if index == self.last:
            return super().call(arrays, scalars, poison=poison, order=order)
        return self._right.call(arrays, scalars, poison=poison, order=order)

"""Orders of summation that depend on something they must not depend on: each legal, and no two alike.

One kernel adds in the order in which its threads arrive, another does so only once the machine is busy, a third folds
one total a thread, a fourth takes a vector path only for aligned memory, a fifth splits a sum when few rows keep too
few processors busy.
"""

from __future__ import annotations

import os
import secrets
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from kernel_contracts.contracts.evidence import Layout
from kernel_contracts.contracts.model import Bound, Contract
from kernel_contracts.measurement.calls import ArrayIn, CallResult
from kernel_contracts.measurement.emulated import Callee, Emulated
from kernel_contracts.measurement.faults.base import Fault, Faulty, Places
from kernel_contracts.numerics.operators import adds_up
from kernel_contracts.numerics.summation import Order

#: Stands in the environment of a kernel whose machine is busy.
_BUSY = "KC_BUSY"

Choose = Callable[[Sequence[ArrayIn], Mapping[str, str]], Order]


class Ordered(Faulty):
    """The contract's own program, in an order chosen anew for each call."""

    def __init__(self, contract: Contract, bound: Bound, choose: Choose, environment: Mapping[str, str]) -> None:
        self.program = Emulated(contract, bound, steady=True)
        super().__init__(self.program)
        self.choose, self.environment = choose, environment

    def spawn(self, environment: Mapping[str, str]) -> Ordered:
        merged = {**self.environment, **environment}
        return Ordered(self.program.contract, self.program.bound, self.choose, merged)

    def under_load(self) -> Ordered:
        """The same on a busy machine. Our own code has no other thread to wait for, so it is told."""
        return self.spawn({_BUSY: "1"})

    def answer(self, arrays: Sequence[ArrayIn], scalars: Mapping[str, Any], poison: Places) -> CallResult:
        return self.program.call(arrays, scalars, poison=poison, order=self.choose(arrays, self.environment))


def _fault(name: str, axis: str, doc: str, choose: Choose) -> Fault:
    def wrap(contract: Contract, bound: Bound, inner: Callee, arguments: tuple[object, ...]) -> Callee:
        return Ordered(contract, bound, choose, {})

    return Fault(name, doc, wrap, axis=axis, applies=_adds)


def _adds(contract: Contract, bound: Bound) -> bool:
    """Whether there is a sum, of which an order could be another one."""
    return any(adds_up(n.op) for n in bound.program.nodes)


def _arrival(arrays: Sequence[ArrayIn], environment: Mapping[str, str]) -> Order:
    return Order("shuffled", 1 + secrets.randbelow(1 << 31))


def _waiting(arrays: Sequence[ArrayIn], environment: Mapping[str, str]) -> Order:
    return _arrival(arrays, environment) if environment.get(_BUSY) else Order("split", 4)


def _threads(arrays: Sequence[ArrayIn], environment: Mapping[str, str]) -> Order:
    return Order("split", max(int(environment.get("OMP_NUM_THREADS", os.cpu_count() or 4)), 1))


def _alignment(arrays: Sequence[ArrayIn], environment: Mapping[str, str]) -> Order:
    aligned = all(a.layout is Layout.CONTIGUOUS for a in arrays)
    return Order("lanes", 8) if aligned else Order("sequential")


def _rows(arrays: Sequence[ArrayIn], environment: Mapping[str, str]) -> Order:
    rows = next((a.array.shape[0] for a in arrays if a.array.ndim), 1)
    return Order("sequential") if rows > 1 else Order("split", 4)


FAULT = (
    _fault("arrival", "runs", "adds in the order in which terms arrive, another one at each call", _arrival),
    _fault(
        "arrival_under_load", "load", "adds in order of arrival, which is one and the same on an idle machine",
        _waiting,
    ),
    _fault(
        "fold_by_threads", "threads", "adds one total a thread, so that their number decides the order", _threads,
    ),
    _fault("vector_if_aligned", "alignment", "adds in lanes where memory is aligned, else one by one", _alignment),
    _fault("split_if_few_rows", "batch", "splits a sum when there is a single row, else adds one by one", _rows),
)  # fmt: skip

"""A kernel as a sum of n numbers: what the order of its additions is read from.

Requirement: the kernel is called as a user calls it, in its own process, on arrays of the shapes asked for; only the
values are chosen.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np

from kernel_contracts.contracts.evidence import Outcome
from kernel_contracts.errors import ArithmeticScopeError, UsageError
from kernel_contracts.formats import FP32, FP64, Format, wider
from kernel_contracts.language.diagnostics import did_you_mean
from kernel_contracts.measurement.calls import ArrayIn
from kernel_contracts.measurement.emulated import Callee
from kernel_contracts.measurement.tree import Sum, Tree, confirm, mask, reveal
from kernel_contracts.numerics.bounded import Array
from kernel_contracts.numerics.rounding import from_storage, to_storage


@dataclass(frozen=True, slots=True)
class Revealed:
    """The order of one sum, and how well it explains other data."""

    tree: Tree
    accumulator: Format
    """The arithmetic in which the tree, executed, agrees best with the kernel."""
    agreed: int
    trials: int

    @property
    def confirmed(self) -> bool:
        return self.agreed == self.trials


Adapter = Callable[[Callee, Format, int], Sum]


def _summing(kernel: Callee, fmt: Format, rows: int) -> Sum:
    def add(terms: Array) -> float:
        x = np.tile(terms, (rows, 1))
        return _answer(kernel, [ArrayIn("x", to_storage(x, fmt))], (rows,), fmt)

    return add


def _multiplying(kernel: Callee, fmt: Format, rows: int) -> Sum:
    """The terms times one: the products are exact, so that they are the terms."""

    def add(terms: Array) -> float:
        a, b = np.tile(terms, (rows, 1)), np.ones((terms.size, rows))
        return _answer(kernel, [ArrayIn("A", to_storage(a, fmt)), ArrayIn("B", to_storage(b, fmt))], (rows, rows), fmt)

    return add


ADAPTERS: Mapping[str, Adapter] = {"sum": _summing, "matmul": _multiplying}
"""How a sum of n terms is asked of each operation."""


def _answer(kernel: Callee, arrays: list[ArrayIn], shape: tuple[int, ...], fmt: Format) -> float:
    result = kernel.call(arrays, poison=[(shape, fmt.name)])  # a kernel file learns from it what it is to give
    if result.outcome is not Outcome.RETURNED or result.defect or len(result.outputs) != 1:
        why = result.detail or result.defect or result.outcome.value
        raise ArithmeticScopeError(f"the kernel gave no sum of {arrays[0].array.shape[-1]} terms: {why}")
    if result.outputs[0].shape != shape:
        raise ArithmeticScopeError(f"the kernel returned shape {list(result.outputs[0].shape)}, not {list(shape)}")
    return float(from_storage(result.outputs[0]).reshape(-1)[0])


def reveal_order(
    kernel: Callee, operation: str, n: int, fmt: Format, *, rows: int = 1, trials: int = 16, seed: int = 0
) -> Revealed:
    """The order in which `kernel` adds n terms of `fmt`.

    Raises UsageError for an operation that is no plain sum, ArithmeticScopeError where the format cannot show the
    order, and NoTreeError where the kernel's answers fit no order at all.
    """
    if operation not in ADAPTERS:
        hint = did_you_mean(operation, ADAPTERS) or f"choose {' or '.join(ADAPTERS)}"
        raise UsageError(f"the order of {operation} cannot be revealed; {hint}")
    add = ADAPTERS[operation](kernel, fmt, rows)
    tree = reveal(add, n, mask(n, fmt, wider(fmt, FP32), fmt), seed)
    tried = dict.fromkeys((wider(fmt, FP32), fmt, FP64))
    agreed = {f: confirm(tree, add, fmt, f, fmt, trials=trials, seed=seed) for f in tried}
    best = max(agreed, key=lambda f: agreed[f])
    return Revealed(tree, best, agreed[best], trials)

"""A wrapper that changes what goes into a kernel and what comes out of it, as values."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from kernel_contracts.contracts.model import Bound, Contract
from kernel_contracts.measurement.calls import ArrayIn, CallResult
from kernel_contracts.measurement.emulated import Callee
from kernel_contracts.measurement.faults.base import Fault, Faulty, Places, Wrap
from kernel_contracts.numerics.bounded import Array
from kernel_contracts.numerics.rounding import from_storage, to_storage

Before = Callable[[dict[str, Array]], dict[str, Array]]
After = Callable[[Mapping[str, Array], Array], Array]


class Rewriting(Faulty):
    """The kernel with its real inputs and its real outputs rewritten."""

    def __init__(self, inner: Callee, contract: Contract, bound: Bound, before: Before | None, after: After | None):
        super().__init__(inner)
        self.contract, self.bound, self.before, self.after = contract, bound, before, after

    def answer(self, arrays: Sequence[ArrayIn], scalars: Mapping[str, Any], poison: Places) -> CallResult:
        values = {a.name: from_storage(a.array) for a in arrays}
        if self.before is not None:
            changed = self.before({n: x for n, x in values.items() if self.bound.inputs[n].is_real})
            arrays = [
                replace(a, array=to_storage(changed[a.name], self.bound.inputs[a.name])) if a.name in changed else a
                for a in arrays
            ]
        result = self.inner.call(arrays, scalars, poison=poison)
        if self.after is None:
            return result
        formats = [self.bound.outputs[t.name] for t in self.contract.outputs]
        outputs = tuple(
            to_storage(self.after(values, from_storage(y)), fmt) if fmt.is_real else y
            for y, fmt in zip(result.outputs, formats, strict=False)
        )
        return replace(result, outputs=outputs)


def rewriting(name: str, doc: str, before: Before | None = None, after: After | None = None) -> Fault:
    """A fault made of one function on the inputs, one on an output, or both."""

    def wrap(contract: Contract, bound: Bound, inner: Callee, arguments: tuple[object, ...]) -> Callee:
        return Rewriting(inner, contract, bound, before, after)

    made: Wrap = wrap
    return Fault(name, doc, made)

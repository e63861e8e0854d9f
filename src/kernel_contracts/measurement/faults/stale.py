"""A statistic of the previous call: the scale comes from the largest magnitude of one step earlier."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from kernel_contracts.contracts.model import Bound, Contract
from kernel_contracts.formats import Format
from kernel_contracts.measurement.calls import ArrayIn, CallResult
from kernel_contracts.measurement.emulated import Callee, Emulated, dims_of, held, returned
from kernel_contracts.measurement.faults.base import Fault, Faulty, Places
from kernel_contracts.numerics.domains import Domain
from kernel_contracts.numerics.interpret import Instance, emulate
from kernel_contracts.numerics.operators import operator
from kernel_contracts.numerics.operators.base import Attrs, EmulateContext
from kernel_contracts.numerics.rounding import from_storage


class Stale(Faulty):
    """The contract's own program; every maximum over a whole array is the one of the call before."""

    def __init__(self, contract: Contract, bound: Bound, inner: Callee) -> None:
        super().__init__(inner)
        self.contract, self.bound = contract, bound
        self.kept: list[Any] = []

    def answer(self, arrays: Sequence[ArrayIn], scalars: Mapping[str, Any], poison: Places) -> CallResult:
        began = time.perf_counter()
        inputs = {a.name: from_storage(a.array) for a in arrays}
        dims = dims_of(self.contract, {n: x.shape for n, x in inputs.items()})
        before: Iterator[Any] = iter(self.kept)
        now: list[Any] = []

        def largest(domain: Domain, attrs: Attrs, fmt: Format, args: list[Any]) -> Any:
            found = np.asarray(operator("max").value(domain, attrs, fmt, args))
            if found.ndim:
                return found
            now.append(found)
            return next(before, found)

        instance = Instance(self.bound.program, dims, inputs, dict(scalars))
        with np.errstate(all="ignore"):
            made = emulate(instance, EmulateContext(), {"max": largest})
        self.kept = now
        formats = self.bound.outputs
        return returned(tuple(held(made[t.name], formats[t.name].name) for t in self.contract.outputs), began)


def _applies(contract: Contract, bound: Bound) -> bool:
    """Where one number stands for a whole array."""
    return any(n.op == "max" and not n.type.shape for n in bound.program.nodes)


def _wrap(contract: Contract, bound: Bound, inner: Callee, arguments: tuple[object, ...]) -> Callee:
    return Stale(contract, bound, inner) if _applies(contract, bound) else Emulated(contract, bound)


FAULT = Fault("stale_maximum", "scales by the largest magnitude of the call before", _wrap, applies=_applies)

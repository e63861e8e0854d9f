"""Contracts of the library measured on kernels in this very process: the session, without workers."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from kernel_contracts.classes import classes
from kernel_contracts.contracts.evidence import Case, Observation, Outcome
from kernel_contracts.contracts.model import Bound, Contract
from kernel_contracts.measurement.calls import ArrayIn, CallResult
from kernel_contracts.measurement.cases import plan_cases
from kernel_contracts.measurement.emulated import returned
from kernel_contracts.measurement.session import Session
from kernel_contracts.oracles import ladder
from kernel_contracts.stacks.base import find

WORK = 1 << 17
"""Largest product of all sizes of one case: many small cases show more than a few large ones."""


class InProcess:
    """A function of a stack, called like a kernel under test."""

    def __init__(self, stack: str, function: Callable[..., Any]) -> None:
        self.stack, self.function = find(stack), function

    def call(
        self, arrays: Sequence[ArrayIn], scalars: Mapping[str, Any] = {}, *, poison: Sequence[Any] = ()
    ) -> CallResult:
        began = time.perf_counter()
        natives = [self.stack.to_native(a.array.copy(), "cpu") for a in arrays]
        with np.errstate(all="ignore"):
            value = self.function(*natives, **scalars)
        items = value if isinstance(value, tuple) else (value,)
        return returned(tuple(self.stack.from_native(v) for v in items), began)


def label(bound: Bound) -> str:
    return "-".join(bound.dtypes.values()) or "plain"


def cases(contract: Contract, bound: Bound, samples: int, seed: int, work: int = WORK) -> list[Case]:
    """What the contract's class plans, small sizes only."""
    plan = classes()[contract.class_id].plan(contract, bound)
    found = [c for c in plan_cases(contract, bound, plan, seed=seed, samples=4 * samples) if c.work <= work]
    return found[:samples]


def measure(contract: Contract, bound: Bound, kernel: Any, samples: int, seed: int, work: int = WORK) -> list[Observation]:
    session = Session(contract, bound, kernel, ladder())
    return list(session.run(cases(contract, bound, samples, seed, work)))


def complaint(o: Observation) -> str:
    """Why an observation speaks against the kernel; empty where it does not."""
    where = f"{o.case.family} {dict(o.case.dims)} {dict(o.case.scalars)}"
    if o.skipped:
        return ""
    if o.outcome is not Outcome.RETURNED or o.defect:
        return f"{o.outcome.value} {o.defect} {o.detail} at {where}"
    if o.violating:
        worst = max((r for r in o.outputs), key=lambda r: r.ratio)
        return f"ratio {worst.ratio:.4g}, {worst.worst} at {where}"
    return "" if o.oracle_ok else f"the oracle {o.oracle} is too weak at {where}"

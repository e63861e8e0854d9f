"""Contracts of the library measured on kernels in this very process: the session, without workers."""

from __future__ import annotations

import inspect
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from kernel_contracts.classes import classes
from kernel_contracts.classes.judging import is_refusal
from kernel_contracts.contracts.catalogue import standard_library
from kernel_contracts.contracts.evidence import Case, Observation, Outcome, Verdict
from kernel_contracts.contracts.model import Bound, Contract
from kernel_contracts.measurement.calls import ArrayIn, CallResult
from kernel_contracts.measurement.communicator import Membership, joined
from kernel_contracts.measurement.emulated import Callee, returned
from kernel_contracts.measurement.experiments import experiments
from kernel_contracts.measurement.oracle import work
from kernel_contracts.measurement.session import Session
from kernel_contracts.numerics.interpret import Instance
from kernel_contracts.oracles import ladder
from kernel_contracts.stacks.base import find
from kernel_contracts.vocabulary import vocabulary

WORK = 1 << 21
"""Operations that one case may take: many small cases show more than a few large ones."""


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
            try:
                value = self.function(*natives, **scalars)
            except (IndexError, RuntimeError, ValueError) as error:
                return CallResult(Outcome.RAISED, f"{type(error).__name__}: {error}")
        items = value if isinstance(value, tuple) else (value,)
        return returned(tuple(self.stack.from_native(v) for v in items), began)


class InThreads:
    """A function on ranks, each rank a thread of this process; called like a kernel under test on ranks."""

    def __init__(self, stack: str, function: Callable[..., Any], directory: Path) -> None:
        self.stack, self.function, self.directory = find(stack), function, directory
        self.calls = 0

    def call(
        self, arrays: Sequence[ArrayIn], scalars: Mapping[str, Any] = {}, *, poison: Sequence[Any] = ()
    ) -> CallResult:
        began = time.perf_counter()
        self.calls += 1
        known = inspect.signature(self.function).parameters
        passed = {n: v for n, v in scalars.items() if n in known}
        world = len(arrays[0].array)
        mine = [[np.array(a.array[rank]) for a in arrays] for rank in range(world)]

        def one(rank: int) -> Any:
            member = Membership(rank, world, self.calls, 7, str(self.directory)).as_json()
            function, comm = joined(self.function, member, self.stack, "cpu")
            failed = True
            try:
                with np.errstate(all="ignore"):
                    value = function(*[self.stack.to_native(x, "cpu") for x in mine[rank]], **passed)
                failed = False
            finally:
                comm.finish(failed)
            return self.stack.from_native(value)

        with ThreadPoolExecutor(world) as pool:
            rows = list(pool.map(one, range(world)))
        changed = [
            a.name
            for k, a in enumerate(arrays)
            if any(mine[r][k].tobytes() != np.array(a.array[r]).tobytes() for r in range(world))
        ]
        dropped = tuple(n for n in scalars if n not in known)
        return replace(returned((np.stack(rows),), began), mutated=tuple(changed), dropped=dropped)


def in_process(contract: Contract, stack: str, function: Callable[..., Any], directory: Path) -> InProcess | InThreads:
    """The function as a kernel of the contract, without processes of its own."""
    return InThreads(stack, function, directory) if contract.ranks else InProcess(stack, function)


def label(bound: Bound) -> str:
    return "-".join(bound.dtypes.values()) or "plain"


def cases(contract: Contract, bound: Bound, samples: int, seed: int, limit: int = WORK) -> list[Case]:
    """What the contract's class plans, small cases only."""
    plan = classes()[contract.class_id].plan(contract, bound)
    found = experiments()[plan.experiment].cases(contract, bound, plan, seed=seed, samples=4 * samples)
    small = [c for c in found if work(Instance(bound.program, c.dims, {}, c.scalars)) <= limit]
    if plan.experiment == "special_values":  # already few, and each is another value
        return small
    if contract.ranks:  # the numbers of ranks come one after another
        return [small[k * len(small) // min(samples, len(small))] for k in range(min(samples, len(small)))]
    return small[:samples]


def measure(
    contract: Contract, bound: Bound, kernel: Callee, samples: int, seed: int, limit: int = WORK
) -> list[Observation]:
    session = Session(contract, bound, kernel, ladder())
    experiment = experiments()[classes()[contract.class_id].plan(contract, bound).experiment]
    seen = [experiment.measure(session, case) for case in cases(contract, bound, samples, seed, limit)]
    return experiment.finish(session, seen)


def verdict(contract: Contract, bound: Bound, kernel: Callee, samples: int, seed: int) -> Verdict:
    seen = measure(contract, bound, kernel, samples, seed)
    return classes()[contract.class_id].judge(contract, bound, seen).verdict


def find_contract(operation: str, class_id: str) -> Contract:
    """The one contract of an operation and a class; where there are several, the first."""
    return next(c for c in standard_library(vocabulary()) if (c.operation, c.class_id) == (operation, class_id))


def complaint(o: Observation) -> str:
    """Why an observation speaks against the kernel; empty where it does not."""
    where = f"{o.case.family} {dict(o.case.dims)} {dict(o.case.scalars)}"
    if o.skipped or is_refusal(o):
        return ""
    if o.outcome is not Outcome.RETURNED or o.defect:
        return f"{o.outcome.value} {o.defect} {o.detail} at {where}"
    if o.violating:
        worst = max((r for r in o.outputs), key=lambda r: r.ratio)
        return f"ratio {worst.ratio:.4g}, {worst.worst} at {where}"
    return "" if o.oracle_ok else f"the oracle {o.oracle} is too weak at {where}"

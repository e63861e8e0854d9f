"""Two ways to check a page of the casebook: in this process, which is quick, and as a user would."""

from __future__ import annotations

import importlib
import time
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from types import ModuleType
from typing import Any

import numpy as np

from kernel_contracts import api
from kernel_contracts.casebook.base import LIMIT, FaultCase
from kernel_contracts.checking import Options, Result, contracts_for, select
from kernel_contracts.classes import classes
from kernel_contracts.contracts.evidence import Outcome
from kernel_contracts.measurement.calls import ArrayIn, CallResult
from kernel_contracts.measurement.emulated import returned
from kernel_contracts.measurement.experiments import experiments
from kernel_contracts.measurement.session import Session
from kernel_contracts.oracles import ladder


class InProcess:
    """A function called like a kernel under test, without a process of its own."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self.function = function

    def call(
        self, arrays: Sequence[ArrayIn], scalars: Mapping[str, Any] = {}, *, poison: Sequence[Any] = ()
    ) -> CallResult:
        began = time.perf_counter()
        try:
            with np.errstate(all="ignore"):
                value = self.function(*(a.array.copy() for a in arrays), **scalars)
        except (ArithmeticError, LookupError, RuntimeError, TypeError, ValueError) as error:
            return CallResult(Outcome.RAISED, f"{type(error).__name__}: {error}", error_type=type(error).__name__)
        return returned(value if isinstance(value, tuple) else (value,), began)


def load(module: str) -> ModuleType:
    """The file of a case as a module."""
    return importlib.import_module(f"kernel_contracts.casebook.cases.{module}")


@cache
def _contracts(operation: str | None, contract: str | None, class_id: str) -> tuple[Any, ...]:
    return contracts_for(operation, contract, (class_id,) if class_id else None)


def check(
    kernel: Callable[..., Any],
    *,
    operation: str | None = None,
    contract: str | None = None,
    class_id: str = "",
    dtypes: Sequence[str] = (),
    seed: int = 0,
    samples: int | None = None,
    limit: int = LIMIT,
) -> list[Result]:
    """The results of a function held in this process, on the cases whose work is within `limit`."""
    results: list[Result] = []
    options = Options(dtypes=tuple(dtypes) or None)
    for found in _contracts(operation, contract, class_id):
        klass = classes()[found.class_id]
        for bound in select(found, None, options):
            began = time.perf_counter()
            plan = klass.plan(found, bound)
            experiment = experiments()[plan.experiment]
            planned = experiment.cases(found, bound, plan, seed=seed, samples=samples)
            small = [c for c in planned if c.work * max(c.dims.values(), default=1) <= limit]
            session = Session(found, bound, InProcess(kernel), ladder(), klass.mutants)
            seen = tuple(experiment.finish(session, [experiment.measure(session, case) for case in small]))
            finding = klass.judge(found, bound, seen)
            results.append(Result(found, bound, finding, seen, seed, time.perf_counter() - began))
    return results


def check_case(case: FaultCase, which: str, seed: int) -> list[Result]:
    """Results of `faulty` or `sibling`, in this process unless the case must be alone."""
    if case.alone:
        return check_isolated(case, which, seed)
    return check(
        getattr(load(case.module), which), class_id=case.class_id, dtypes=case.dtypes, seed=seed, samples=case.samples,
        limit=case.limit, **case.source,
    )  # fmt: skip


def check_isolated(case: FaultCase, which: str, seed: int) -> list[Result]:
    """The same through the public door, the kernel in a process of its own."""
    return api.check(
        f"{case.file}:{which}", case.operation or None, contract=case.source["contract"], classes=[case.class_id],
        dtypes=list(case.dtypes) or None, seed=seed, samples=case.samples,
    )  # fmt: skip

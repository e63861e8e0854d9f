"""Two ways to check a page of the casebook: in this process, which is quick, and as a user would."""

from __future__ import annotations

import importlib
import importlib.util
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from types import ModuleType
from typing import Any

import numpy as np

from kernel_contracts import api
from kernel_contracts.casebook import control_kernels, fault_cases
from kernel_contracts.casebook.base import LIMIT, Control, FaultCase
from kernel_contracts.checking import Options, Result, contracts_for, select
from kernel_contracts.classes import classes
from kernel_contracts.contracts.evidence import Outcome, Verdict
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
            small = experiment.completed(session, small)
            seen = tuple(experiment.finish(session, [experiment.measure(session, case) for case in small]))
            finding = klass.judge(found, bound, seen)
            results.append(Result(found, bound, finding, seen, seed, time.perf_counter() - began))
    return results


def check_case(case: FaultCase, which: str, seed: int) -> list[Result]:
    """Results of `faulty` or `sibling`, in this process unless the case must be alone."""
    if case.alone:
        return check_isolated(case, which, seed)
    return _here(case, getattr(load(case.module), which), seed)


def check_isolated(case: FaultCase, which: str, seed: int) -> list[Result]:
    """The same through the public door, the kernel in a process of its own."""
    return _isolated(case, f"{case.file}:{which}", seed)


def _here(page: FaultCase | Control, kernel: Callable[..., Any], seed: int) -> list[Result]:
    return check(
        kernel, class_id=page.class_id, dtypes=page.dtypes, seed=seed, samples=page.samples, limit=page.limit,
        **page.source,
    )  # fmt: skip


def _isolated(page: FaultCase | Control, target: str, seed: int) -> list[Result]:
    return api.check(
        target, **page.source, classes=[page.class_id], dtypes=list(page.dtypes) or None, seed=seed,
        samples=page.samples,
    )  # fmt: skip


@dataclass(frozen=True, slots=True)
class Trial:
    """One page of the casebook, measured for one choice of dtypes."""

    name: str
    class_id: str
    contract: str
    dtypes: str
    conforms: bool
    """What it does in truth."""
    verdict: Verdict
    signature: str
    ratio: float
    seconds: float
    """Of processor time, that of the kernel's own process aside."""
    ok: bool
    """The verdict is the known one and gives the defect a name that it may have."""


def trial_names() -> tuple[str, ...]:
    """Everything that can be tried here: each case twice, then the controls."""
    here = (c.id for c in fault_cases().values() if not c.needs or importlib.util.find_spec(c.needs))
    return (*(f"{c} {which}" for c in here for which in ("faulty", "sibling")), *control_kernels())


def class_of(name: str) -> str:
    """The contract class that a trial belongs to."""
    return control_kernels()[name].class_id if name in control_kernels() else fault_cases()[name.split()[0]].class_id


def trial(name: str, seed: int) -> list[Trial]:
    """Measures one page of the casebook; one result for each choice of dtypes."""
    began = time.process_time()
    if name in control_kernels():
        control = control_kernels()[name]
        conforms, signatures, results = control.conforms, control.signatures, _check_control(control, seed)
    else:
        case, which = fault_cases()[name.split()[0]], name.split()[1]
        conforms, signatures, results = which == "sibling", case.signatures, check_case(case, which, seed)
    share = (time.process_time() - began) / max(len(results), 1)
    return [_tried(name, conforms, signatures, r, share) for r in results]


def _check_control(control: Control, seed: int) -> list[Result]:
    return _isolated(control, control.target, seed) if control.alone else _here(control, control.kernel, seed)


def _tried(name: str, conforms: bool, signatures: tuple[str, ...], result: Result, seconds: float) -> Trial:
    found = result.finding
    signature = found.signature.name if found.signature else ""
    ok = found.verdict is (Verdict.CONFORMS if conforms else Verdict.VIOLATES)
    ok = ok and (conforms or not signatures or signature in signatures)
    dtypes = ", ".join(result.bound.dtypes.values())
    return Trial(
        name, result.contract.class_id, result.contract.name, dtypes, conforms, found.verdict, signature, found.ratio,
        seconds, ok,
    )  # fmt: skip

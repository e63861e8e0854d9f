"""The mutation score of one contract: every wrong kernel of its class, killed by a violation, surviving, or no mutant.

A mutant is killed when one case fails by the rule that judges a kernel under test. One that gives the same bits as the
original on every planned case is no mutant and does not count.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import numpy as np

from kernel_contracts.classes import classes
from kernel_contracts.classes.judging import fails
from kernel_contracts.contracts.determinism import promise_of
from kernel_contracts.contracts.evidence import Case, Observation
from kernel_contracts.contracts.model import Bound, Contract
from kernel_contracts.contracts.schedules import variations_of
from kernel_contracts.errors import ArithmeticScopeError
from kernel_contracts.measurement.calls import Way
from kernel_contracts.measurement.emulated import Callee, Emulated
from kernel_contracts.measurement.experiments import Experiment
from kernel_contracts.measurement.faults import Fault, faults
from kernel_contracts.measurement.faults.index import conforming
from kernel_contracts.measurement.known import Known
from kernel_contracts.measurement.scheduling import Under, space_of
from kernel_contracts.measurement.session import Session
from kernel_contracts.numerics.bounded import Array
from kernel_contracts.numerics.interpret import Instance, emulate
from kernel_contracts.numerics.mutants import mutants
from kernel_contracts.numerics.operators.base import EmulateContext
from kernel_contracts.numerics.program import Program
from kernel_contracts.oracles import ladder
from kernel_contracts.states import own_kernel

Watch = Callable[[str], None]

#: Cases whose original is kept: most mutants differ on the first ones.
_KEPT = 8


@dataclass(frozen=True, slots=True)
class MutantResult:
    """One mutant: killed, surviving, or none of this contract."""

    name: str
    where: str
    outcome: str
    """killed, survived; equivalent where no bit changes, permitted where the contract promises nothing against it."""


@dataclass(frozen=True, slots=True)
class Bench:
    """What all kernels of one contract and choice of dtypes are measured with."""

    contract: Contract
    bound: Bound
    experiment: Experiment
    cases: list[Case]
    known: Known
    originals: dict[int, dict[str, Array]] = field(default_factory=dict)
    """What the contract's own program gives on the first cases, by position, executed in one way."""

    def session(self, kernel: Callee, mutants: tuple[str, ...] = ()) -> Session:
        return Session(self.contract, self.bound, kernel, ladder(), mutants, self.known)


def score(bench: Bench, say: Watch) -> Iterator[MutantResult]:
    """Every mutant and every fault of the contract's class."""
    contract, bound = bench.contract, bench.bound
    klass, quiet = classes()[contract.class_id], bench.experiment.name == "repeats"
    front: list[Case] = []
    for name, arguments in ((n, a) for n in klass.mutants for a in mutants()[n].defaults):
        for where, program in mutants()[name].apply(bound.program, arguments):
            say(f"{contract.name} {bound.label}: {_shown(name, arguments)}")
            mutant = own_kernel(contract, bound, program)
            if killed(bench, mutant, front, once=quiet):
                outcome = "killed"
            else:
                outcome = "equivalent" if same_bits(bench, program) else "survived"
            yield MutantResult(_shown(name, arguments), where, outcome)
    chosen = [n for n in klass.faults if faults()[n].applies(contract, bound)]
    for name, arguments in ((n, a) for n in chosen for a in faults()[n].defaults):
        say(f"{contract.name} {bound.label}: {_shown(name, arguments)}")
        yield MutantResult(
            _shown(name, arguments), faults()[name].doc, _fault_outcome(bench, faults()[name], arguments)
        )


def _shown(name: str, arguments: tuple[object, ...]) -> str:
    return f"{name}({', '.join(map(str, arguments))})" if arguments else name


def killed(bench: Bench, kernel: Callee, front: list[Case], *, once: bool = False) -> bool:
    """Whether one case fails. `front` holds the cases that killed before, which are asked first and added to.

    With `once` a kernel that always goes the same way is called once a case, also where calls are repeated.
    """
    session = bench.session(kernel)
    measure = session.measure if once else partial(bench.experiment.measure, session)
    first = {id(c) for c in front}
    measured: list[Observation] = []
    for case in (*front, *(c for c in bench.cases if id(c) not in first)):
        seen = measure(case)
        if _shows(seen):
            if id(case) not in first:
                front.append(case)
            return True
        measured.append(seen)
    return not once and any(map(_shows, bench.experiment.finish(session, measured)))  # what only all cases show


def _shows(seen: Observation) -> bool:
    return not seen.skipped and seen.oracle_ok and fails(seen)


def _fault_outcome(bench: Bench, fault: Fault, arguments: tuple[object, ...]) -> str:
    """A fault at the call is none where every call ends as without it, bit for bit."""
    contract, bound = bench.contract, bench.bound

    def faulty() -> Callee:
        return fault.wrap(contract, bound, Emulated(contract, bound), arguments)

    if not _promised(contract, fault.axis):
        return "permitted"
    if killed(bench, faulty(), []):
        return "killed"
    # both start anew, so both draw the same orders of summation
    without = bench.session(conforming(contract, bound, own_kernel(contract, bound)))
    with_fault = bench.session(faulty())
    for case, inputs, way in _calls(bench, without):
        (first, own, _), (second, other, _) = (
            s.called(case, inputs, None if way is None else Under(s.kernel, way)) for s in (without, with_fault)
        )
        same = all(n in other and np.array_equal(y, other[n], equal_nan=y.dtype.kind == "f") for n, y in own.items())
        if first.outcome is not second.outcome or not same:
            return "survived"
    return "equivalent"


def _calls(bench: Bench, session: Session) -> Iterator[tuple[Case, dict[str, Any], Way | None]]:
    """Every case, and where there are schedules each of them twice: what is kept from a call shows in the next."""
    parameter = variations_of(bench.contract).parameter
    for case in bench.cases:
        try:
            inputs = bench.experiment.inputs(session, case)
        except ArithmeticScopeError:
            continue  # this case does not exist at these sizes
        yield case, inputs, None
        for index in 2 * [*range(len(space_of(session.kernel, parameter, case.dims).labels))]:
            yield case, inputs, Way(parameter, case.dims, index)


def _promised(contract: Contract, axis: str) -> bool:
    """Whether a difference across this repetition breaks the contract; always where a fault shows in a single call."""
    promise = promise_of(contract)
    return not axis or (axis in promise.axes and promise.binding(axis))


def same_bits(bench: Bench, program: Program) -> bool:
    """Whether a program gives what the contract's own gives on every case, executed in one way."""
    session = Session(bench.contract, bench.bound, Emulated(bench.contract, bench.bound), (), known=bench.known)
    for position, case in enumerate(bench.cases):
        try:
            inputs = bench.experiment.inputs(session, case)
            instance = Instance(bench.bound.program, case.dims, inputs, case.scalars)
            first = bench.originals.get(position) or emulate(instance, EmulateContext())
            if position < _KEPT:
                bench.originals[position] = first
            second = emulate(replace(instance, program=program), EmulateContext())
        except (ArithmeticError, ValueError, IndexError, ArithmeticScopeError):
            continue  # this case does not exist at these sizes
        if any(not np.array_equal(first[n], second[n], equal_nan=first[n].dtype.kind == "f") for n in first):
            return False
    return True

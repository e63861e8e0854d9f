"""Whether a contract separates: its good kernel conforms, its silently bad one violates, its baseline fails visibly.

Each state runs through the same measurement as a kernel under test. The bad state must pass an ordinary functional
test, else it anchors nothing. The mutation score is killed / valid over every mutant of the contract's class; a mutant
that gives the same bits as the original on every planned case is no mutant and does not count.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

import numpy as np

from kernel_contracts.classes import classes
from kernel_contracts.classes.judging import fails
from kernel_contracts.contracts.evidence import Case, Observation, Verdict
from kernel_contracts.contracts.model import Bound, Contract
from kernel_contracts.errors import ArithmeticScopeError
from kernel_contracts.language import syntax
from kernel_contracts.language.clauses import kernel as written
from kernel_contracts.measurement.emulated import Callee, Emulated
from kernel_contracts.measurement.experiments import Experiment, experiments
from kernel_contracts.measurement.faults import Fault, faults
from kernel_contracts.measurement.faults.index import conforming
from kernel_contracts.measurement.functional import ordinary, passes
from kernel_contracts.measurement.process import Kernel
from kernel_contracts.measurement.ranked import Ranks
from kernel_contracts.measurement.session import Session
from kernel_contracts.numerics.interpret import Instance, emulate
from kernel_contracts.numerics.mutants import mutants
from kernel_contracts.numerics.operators.base import EmulateContext
from kernel_contracts.numerics.program import Program
from kernel_contracts.oracles import ladder
from kernel_contracts.states import kernels_of, steady

Watch = Callable[[str], None]

#: Failures after which a state that must fail has shown enough.
_ENOUGH = 5


@dataclass(frozen=True, slots=True)
class State:
    """One of the three states, measured."""

    state: str
    kernel: str
    verdict: Verdict
    signature: str
    ratio: float
    silent: bool
    """Passes the ordinary functional test."""
    ok: bool


@dataclass(frozen=True, slots=True)
class MutantResult:
    """One mutant: killed, surviving, or no mutant at all."""

    name: str
    where: str
    outcome: str
    """killed, survived, equivalent."""


@dataclass(frozen=True, slots=True)
class Calibration:
    """What calibration found for one contract and one choice of dtypes."""

    contract: Contract
    bound: Bound
    states: tuple[State, ...]
    mutants: tuple[MutantResult, ...]

    @property
    def killed(self) -> int:
        return sum(m.outcome == "killed" for m in self.mutants)

    @property
    def valid(self) -> int:
        return sum(m.outcome != "equivalent" for m in self.mutants)

    @property
    def survivors(self) -> tuple[MutantResult, ...]:
        return tuple(m for m in self.mutants if m.outcome == "survived")

    @property
    def separates(self) -> bool:
        """All three states are there and each does what it must."""
        present = {s.state for s in self.states}
        return present == {"good", "bad", "baseline"} and all(s.ok for s in self.states)


def calibrate(
    contract: Contract, bound: Bound, *, seed: int, score: bool = True, watch: Watch | None = None
) -> Calibration:
    """Measures the three states of a contract and, with `score`, every mutant of its class."""
    say = watch or (lambda _: None)
    klass = classes()[contract.class_id]
    plan = klass.plan(contract, bound)
    experiment = experiments()[plan.experiment]
    cases = experiment.cases(contract, bound, plan, seed=seed)
    states: list[State] = []
    for entry in contract.calibrate:
        say(f"{contract.name} {bound.label}: {entry.state}")
        states.extend(_state(contract, bound, entry, experiment, cases, seed))
    results: list[MutantResult] = []
    for name in klass.mutants if score else ():
        for arguments in mutants()[name].defaults:
            shown = f"{name}({', '.join(map(str, arguments))})" if arguments else name
            for where, program in mutants()[name].apply(bound.program, arguments):
                say(f"{contract.name} {bound.label}: {shown}")
                mutant = Emulated(contract, bound, program, steady=steady(contract, bound))
                results.append(MutantResult(shown, where, _outcome(contract, bound, experiment, mutant, cases)))
    for name in klass.faults if score else ():
        for arguments in faults()[name].defaults:
            shown = f"{name}({', '.join(map(str, arguments))})" if arguments else name
            say(f"{contract.name} {bound.label}: {shown}")
            outcome = _fault_outcome(contract, bound, experiment, faults()[name], arguments, cases)
            results.append(MutantResult(shown, faults()[name].doc, outcome))
    return Calibration(contract, bound, tuple(states), tuple(results))


def _state(
    contract: Contract, bound: Bound, entry: syntax.CalibrateState, experiment: Experiment, cases: list[Case], seed: int
) -> list[State]:
    """The measured state; a mutant that does not apply to this choice of dtypes gives none."""
    klass = classes()[contract.class_id]
    text = written(entry.kernel)
    kernels = [k for k in kernels_of(contract, bound, entry) if not _equivalent(contract, bound, experiment, k, cases)]
    out: list[State] = []
    for kernel in kernels:
        session = Session(contract, bound, kernel, ladder(), klass.mutants)
        finding = klass.judge(contract, bound, _observed(session, experiment, cases, entry.state))
        silent = passes(contract, bound, kernel, seed, ordinary(contract, bound, seed))
        ok = {
            "good": finding.verdict is Verdict.CONFORMS,
            "bad": finding.verdict is Verdict.VIOLATES and silent,
            "baseline": not silent and finding.verdict in (Verdict.VIOLATES, Verdict.INAPPLICABLE),
        }[entry.state]
        name = finding.signature.name if finding.signature else ""
        out.append(State(entry.state, text, finding.verdict, name, finding.ratio, silent, ok))
        if isinstance(kernel, Kernel | Ranks):
            kernel.close()
    return out


def _equivalent(contract: Contract, bound: Bound, experiment: Experiment, kernel: Callee, cases: list[Case]) -> bool:
    """A mutant of a place where it changes nothing (zeros that pad a batch): no kernel of its own."""
    if not isinstance(kernel, Emulated) or kernel.program is bound.program:
        return False
    return _same_bits(Session(contract, bound, kernel, ()), bound, experiment, kernel.program, cases)


def _observed(session: Session, experiment: Experiment, cases: list[Case], state: str) -> list[Observation]:
    """Every case of a good kernel; of the others until a few have failed."""
    seen: list[Observation] = []
    for case in cases:
        seen.append(experiment.measure(session, case))
        if state != "good" and sum(fails(o) for o in seen) >= _ENOUGH:
            break
    return experiment.finish(session, seen)


def _outcome(contract: Contract, bound: Bound, experiment: Experiment, kernel: Emulated, cases: list[Case]) -> str:
    """Killed at the first failing case; otherwise compared bit for bit with the original."""
    session = Session(contract, bound, kernel, ladder())
    if _killed(session, experiment, cases):
        return "killed"
    return "equivalent" if _same_bits(session, bound, experiment, kernel.program, cases) else "survived"


def _killed(session: Session, experiment: Experiment, cases: list[Case]) -> bool:
    return any(
        not seen.skipped and seen.oracle_ok and fails(seen)
        for seen in (experiment.measure(session, case) for case in cases)
    )


def _fault_outcome(
    contract: Contract, bound: Bound, experiment: Experiment, fault: Fault, arguments: tuple[object, ...],
    cases: list[Case],
) -> str:  # fmt: skip
    """The same for a fault at the call: it is none where every call ends as without it, bit for bit."""

    def faulty() -> Session:
        return Session(contract, bound, fault.wrap(contract, bound, Emulated(contract, bound), arguments), ladder())

    if _killed(faulty(), experiment, cases):
        return "killed"
    # both start anew, so both draw the same orders of summation
    without = Session(contract, bound, conforming(contract, bound, Emulated(contract, bound)), ())
    with_fault = faulty()
    for case in cases:
        inputs = experiment.inputs(without, case)
        (first, own, _), (second, other, _) = without.called(case, inputs), with_fault.called(case, inputs)
        same = all(n in other and np.array_equal(y, other[n], equal_nan=y.dtype.kind == "f") for n, y in own.items())
        if first.outcome is not second.outcome or not same:
            return "survived"
    return "equivalent"


def _same_bits(session: Session, bound: Bound, experiment: Experiment, program: Program, cases: list[Case]) -> bool:
    for case in cases:
        try:
            instance = Instance(bound.program, case.dims, experiment.inputs(session, case), case.scalars)
            first = emulate(instance, EmulateContext())
            second = emulate(replace(instance, program=program), EmulateContext())
        except (ArithmeticError, ValueError, IndexError, ArithmeticScopeError):
            continue  # this case does not exist at these sizes
        if any(not np.array_equal(first[n], second[n], equal_nan=first[n].dtype.kind == "f") for n in first):
            return False
    return True


def totals(results: list[Calibration]) -> Mapping[str, tuple[int, int]]:
    """For each class, killed and valid mutants."""
    out: dict[str, tuple[int, int]] = {}
    for r in results:
        killed, valid = out.get(r.contract.class_id, (0, 0))
        out[r.contract.class_id] = (killed + r.killed, valid + r.valid)
    return dict(sorted(out.items()))

"""Whether a contract separates: its good kernel conforms, its silently bad one violates, its baseline fails visibly.

Each state runs through the same measurement as a kernel under test. The bad state must pass an ordinary functional
test, else it anchors nothing. The mutation score is killed / valid over every mutant of the contract's class; a mutant
that gives the same bits as the original on every planned case is no mutant and does not count.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from kernel_contracts.classes import classes
from kernel_contracts.classes.judging import fails
from kernel_contracts.contracts.evidence import Case, Observation, Verdict
from kernel_contracts.contracts.model import Bound, Contract
from kernel_contracts.contracts.values import Problem, constant
from kernel_contracts.errors import ArithmeticScopeError, UsageError
from kernel_contracts.language import syntax
from kernel_contracts.language.clauses import kernel as written
from kernel_contracts.language.diagnostics import did_you_mean
from kernel_contracts.measurement.emulated import Callee, Emulated, Fixed, When
from kernel_contracts.measurement.experiments import Experiment, experiments
from kernel_contracts.measurement.faults import faults
from kernel_contracts.measurement.functional import ordinary, passes
from kernel_contracts.measurement.process import Kernel
from kernel_contracts.measurement.session import Session
from kernel_contracts.numerics.interpret import Instance, emulate
from kernel_contracts.numerics.mutants import mutants
from kernel_contracts.numerics.operators.base import EmulateContext
from kernel_contracts.numerics.program import Program
from kernel_contracts.oracles import ladder

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
                mutant = Emulated(contract, bound, program, steady=_steady(contract, bound))
                results.append(MutantResult(shown, where, _outcome(contract, bound, experiment, mutant, cases)))
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
        if isinstance(kernel, Kernel):
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


def kernels_of(contract: Contract, bound: Bound, entry: syntax.CalibrateState) -> Sequence[Callee]:
    """The kernels that a state stands for. Raises UsageError when it names nothing known."""
    kernel = entry.kernel
    name = kernel.id if isinstance(kernel, syntax.Name) else kernel.function if isinstance(kernel, syntax.Call) else ""
    if name == "emulated":
        return [Emulated(contract, bound, steady=_steady(contract, bound))]
    if name == "zeros":
        return [Fixed(lambda shape, fmt: np.zeros(shape))]
    if name == "ones":
        return [Fixed(lambda shape, fmt: np.ones(shape))]
    given = kernel.arguments[0].value if isinstance(kernel, syntax.Call) and kernel.arguments else None
    if name == "python" and isinstance(given, syntax.Text):
        return [Kernel(given.value, working_directory=Path(contract.path).parent)]
    if name == "mutant" and isinstance(kernel, syntax.Call) and given is not None:
        return _mutants_of(contract, bound, kernel)
    if name == "fault" and isinstance(kernel, syntax.Call) and given is not None:
        return [_fault_of(contract, bound, given)]
    raise UsageError(
        f"{contract.path}: the {entry.state} state of {contract.name} is {name or 'nothing known'}; "
        'write emulated, mutant(...), fault(...), zeros, ones or python "file.py:function"'
    )


def _mutants_of(contract: Contract, bound: Bound, call: syntax.Call) -> Sequence[Callee]:
    """`mutant(accumulate(fp16), above(K, 256))`: the fault, and optionally the sizes at which it shows."""
    fault = call.arguments[0].value
    name = fault.function if isinstance(fault, syntax.Call) else fault.id if isinstance(fault, syntax.Name) else ""
    if name not in mutants():
        hint = did_you_mean(name, mutants())
        raise UsageError(f"{contract.path}: there is no mutant {name}; {hint or 'see kc list mutants'}")
    arguments = tuple(_argument(a.value) for a in fault.arguments) if isinstance(fault, syntax.Call) else ()
    when = _when(contract, call.arguments[1].value) if len(call.arguments) > 1 else None
    steady = _steady(contract, bound)
    found = mutants()[name].apply(bound.program, arguments)
    return [Emulated(contract, bound, p, when=when, steady=steady) for _, p in found]


def _steady(contract: Contract, bound: Bound) -> bool:
    """Whether our own kernels keep to one order: where repetition is measured, a new one at each call is the fault."""
    return classes()[contract.class_id].plan(contract, bound).experiment == "repeats"


def _fault_of(contract: Contract, bound: Bound, fault: syntax.Expr) -> Callee:
    """`fault(nan_to_zero)`: the contract's own program behind a faulty call."""
    name = fault.function if isinstance(fault, syntax.Call) else fault.id if isinstance(fault, syntax.Name) else ""
    if name not in faults():
        raise UsageError(
            f"{contract.path}: there is no fault {name}; {did_you_mean(name, faults()) or 'check its name'}"
        )
    arguments = tuple(_argument(a.value) for a in fault.arguments) if isinstance(fault, syntax.Call) else ()
    return faults()[name].wrap(contract, bound, Emulated(contract, bound), arguments)


def _argument(expr: syntax.Expr) -> object:
    try:
        return expr.id if isinstance(expr, syntax.Name) else constant(expr)
    except Problem as problem:
        raise UsageError(f"the argument {_text(expr)} of a mutant is no format, number or name: {problem}") from problem


def _when(contract: Contract, expr: syntax.Expr) -> When:
    """`above(K, 256)`: where a size exceeds; `off(N, 16)`: where it is no multiple."""
    known = isinstance(expr, syntax.Call) and expr.function in ("above", "off") and len(expr.arguments) == 2
    if not known or not isinstance(expr, syntax.Call) or not isinstance(expr.arguments[0].value, syntax.Name):
        raise UsageError(f"{contract.path}: a mutant is limited by above(K, 256) or off(N, 16)")
    dim, limit = expr.arguments[0].value.id, _limit(contract, expr.arguments[1].value)
    if dim not in contract.dims:
        raise UsageError(f"{contract.path}: {dim} is not a size of {contract.name}; {did_you_mean(dim, contract.dims)}")
    if expr.function == "above":
        return lambda sizes: sizes[dim] > limit
    return lambda sizes: sizes[dim] % limit != 0


def _limit(contract: Contract, expr: syntax.Expr) -> int:
    limit = _argument(expr)
    if not isinstance(limit, int) or limit < 1:
        raise UsageError(f"{contract.path}: {_text(expr)} is no size; write for example above(K, 256) or off(N, 16)")
    return limit


def _text(expr: syntax.Expr) -> str:
    from kernel_contracts.language.printer import print_node

    return print_node(expr)


def _outcome(contract: Contract, bound: Bound, experiment: Experiment, kernel: Callee, cases: list[Case]) -> str:
    """Killed at the first failing case; otherwise compared bit for bit with the original."""
    session = Session(contract, bound, kernel, ladder())
    for case in cases:
        seen = experiment.measure(session, case)
        if not seen.skipped and seen.oracle_ok and fails(seen):
            return "killed"
    same = isinstance(kernel, Emulated) and _same_bits(session, bound, experiment, kernel.program, cases)
    return "equivalent" if same else "survived"


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

"""Whether a contract separates: its good kernel conforms, its silently bad one violates, its baseline fails visibly.

Each state runs through the same measurement as a kernel under test. The bad state must pass an ordinary functional
test, else it anchors nothing. Besides what a contract calls good there is one kernel that no contract may accuse: the
reference's own value, rounded once. The mutation score is killed / valid over every mutant of the contract's class.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from kernel_contracts.classes import classes
from kernel_contracts.classes.judging import fails
from kernel_contracts.contracts.evidence import Observation, Verdict
from kernel_contracts.contracts.model import Bound, Contract
from kernel_contracts.language import syntax
from kernel_contracts.language.clauses import kernel as written
from kernel_contracts.measurement.emulated import Callee, Emulated
from kernel_contracts.measurement.experiments import experiments
from kernel_contracts.measurement.functional import OrdinaryTest
from kernel_contracts.measurement.known import Known
from kernel_contracts.measurement.process import Kernel
from kernel_contracts.measurement.ranked import Ranks
from kernel_contracts.measurement.session import Session
from kernel_contracts.scoring import Bench, MutantResult, Watch, same_bits
from kernel_contracts.scoring import score as mutation_score
from kernel_contracts.states import Exact, kernels_of

#: Failures after which a state that must fail has shown enough.
_ENOUGH = 5
#: Cases of the reference's own value; it adds nothing that depends on the number of them.
_EXACT = 12
#: Experiments that ask for values alone, so that the right value is a right answer.
_VALUES = ("values", "orders")


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
class Calibration:
    """What calibration found for one contract and one choice of dtypes."""

    contract: Contract
    bound: Bound
    states: tuple[State, ...]
    mutants: tuple[MutantResult, ...]
    seconds: float = 0.0
    """Of processor time in this process: what else runs on the machine does not count."""

    @property
    def killed(self) -> int:
        return sum(m.outcome == "killed" for m in self.mutants)

    @property
    def valid(self) -> int:
        return sum(m.outcome in ("killed", "survived") for m in self.mutants)

    @property
    def survivors(self) -> tuple[MutantResult, ...]:
        return tuple(m for m in self.mutants if m.outcome == "survived")

    @property
    def separates(self) -> bool:
        """All three states are there and each does what it must."""
        present = {s.state for s in self.states}
        return present >= {"good", "bad", "baseline"} and all(s.ok for s in self.states)


def calibrate(
    contract: Contract, bound: Bound, *, seed: int, score: bool = True, watch: Watch | None = None
) -> Calibration:
    """Measures the three states of a contract and, with `score`, every mutant of its class."""
    say = watch or (lambda _: None)
    began = time.process_time()
    plan = classes()[contract.class_id].plan(contract, bound)
    experiment = experiments()[plan.experiment]
    bench = Bench(contract, bound, experiment, experiment.cases(contract, bound, plan, seed=seed), Known())
    test = OrdinaryTest(contract, bound, seed)
    states: list[State] = []
    for entry in contract.calibrate:
        say(f"{contract.name} {bound.label}: {entry.state}")
        states.extend(_states(bench, entry, test))
    if plan.experiment in _VALUES and contract.calibrate:
        say(f"{contract.name} {bound.label}: exact")
        states.append(_exact(bench))
    mutants = tuple(mutation_score(bench, say)) if score else ()
    return Calibration(contract, bound, tuple(states), mutants, time.process_time() - began)


def _states(bench: Bench, entry: syntax.CalibrateState, test: OrdinaryTest) -> Iterator[State]:
    """The measured state; a mutant that does not apply to this choice of dtypes gives none."""
    contract, bound = bench.contract, bench.bound
    klass = classes()[contract.class_id]
    for kernel in kernels_of(contract, bound, entry):
        if _equivalent(bench, kernel):
            continue
        # what is wrong with zeros need not be found out
        session = bench.session(kernel, klass.mutants if entry.state == "bad" else ())
        finding = klass.judge(contract, bound, _observed(bench, session, entry.state))
        silent = test.passes(kernel, test.tolerance)
        ok = {
            "good": finding.verdict is Verdict.CONFORMS,
            "bad": finding.verdict is Verdict.VIOLATES and silent,
            "baseline": not silent and finding.verdict in (Verdict.VIOLATES, Verdict.INAPPLICABLE),
        }[entry.state]
        name = finding.signature.name if finding.signature else ""
        yield State(entry.state, written(entry.kernel), finding.verdict, name, finding.ratio, silent, ok)
        if isinstance(kernel, Kernel | Ranks):
            kernel.close()


def _exact(bench: Bench) -> State:
    """The reference's own value: more accurate than any kernel, and conforming."""
    contract, bound = bench.contract, bench.bound
    session = bench.session(Exact(contract, bound))
    step = max(len(bench.cases) // _EXACT, 1)
    seen = [bench.experiment.measure(session, case) for case in bench.cases[::step]]
    finding = classes()[contract.class_id].judge(contract, bound, seen)
    name = finding.signature.name if finding.signature else ""
    ok = finding.verdict is Verdict.CONFORMS
    return State("exact", "the value of the reference", finding.verdict, name, finding.ratio, True, ok)


def _equivalent(bench: Bench, kernel: Callee) -> bool:
    """A mutant of a place where it changes nothing (zeros that pad a batch): no kernel of its own."""
    if not isinstance(kernel, Emulated) or kernel.program is bench.bound.program:
        return False
    return same_bits(bench, kernel.program)


def _observed(bench: Bench, session: Session, state: str) -> list[Observation]:
    """Every case of a good kernel; of the others until a few have failed."""
    seen: list[Observation] = []
    for case in bench.experiment.completed(session, bench.cases):
        seen.append(bench.experiment.measure(session, case))
        if state != "good" and sum(fails(o) for o in seen) >= _ENOUGH:
            break
    return bench.experiment.finish(session, seen)


def totals(results: list[Calibration]) -> Mapping[str, tuple[int, int]]:
    """For each class, killed and valid mutants."""
    out: dict[str, tuple[int, int]] = {}
    for r in results:
        killed, valid = out.get(r.contract.class_id, (0, 0))
        out[r.contract.class_id] = (killed + r.killed, valid + r.valid)
    return dict(sorted(out.items()))

"""The main job: a contract, a kernel, a verdict with a reason and a witness."""

from __future__ import annotations

import secrets
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import asdict, dataclass, field, replace
from itertools import groupby
from pathlib import Path
from typing import Any

from kernel_contracts.classes import classes
from kernel_contracts.classes.judging import fails
from kernel_contracts.contracts.catalogue import load_file, operation_file, standard_library
from kernel_contracts.contracts.evidence import Case, Finding, Observation, Outcome, Verdict
from kernel_contracts.contracts.model import Bound, Contract
from kernel_contracts.errors import UsageError
from kernel_contracts.formats import FORMATS
from kernel_contracts.honesty import audited
from kernel_contracts.language.diagnostics import did_you_mean
from kernel_contracts.measurement.calls import LoadReport
from kernel_contracts.measurement.emulated import Callee
from kernel_contracts.measurement.experiments import Experiment, experiments
from kernel_contracts.measurement.known import Known
from kernel_contracts.measurement.minimise import ATTEMPTS, shrink
from kernel_contracts.measurement.session import Session
from kernel_contracts.measurement.spawning import Started
from kernel_contracts.measurement.witness import Witness
from kernel_contracts.numerics.mutants import mutants
from kernel_contracts.oracles import ladder
from kernel_contracts.vocabulary import vocabulary

#: Ends of a call that cost a new process, or the whole time limit.
_COSTLY = {Outcome.HUNG: "hung", Outcome.CRASHED: "crashed", Outcome.OUT_OF_MEMORY: "ran out of memory"}
#: A contract is given up after so many of them in a row, or in all.
_IN_A_ROW, _ENDINGS = 3, 5
#: Calls that shrinking a hang may take: one that hangs again takes the whole time limit.
_HANGS = 2

Watch = Callable[[Contract, Bound, int, int, Observation], None]
"""Called after each case: contract, dtypes, number done, number planned, what was seen."""


@dataclass(frozen=True, slots=True)
class Options:
    """How to measure. `dtypes` and `classes` select; None takes what the contract and the stack offer."""

    classes: tuple[str, ...] | None = None
    dtypes: tuple[str, ...] | None = None
    samples: int | None = None
    seed: int | None = None
    params: Mapping[str, Any] = field(default_factory=dict)
    shrink: bool = True
    forbid: tuple[str, ...] = ()
    """Functions that the kernel may not call, by their full names: `torch.matmul`."""


@dataclass(frozen=True, slots=True)
class Result:
    """The verdict on one contract for one choice of dtypes, with everything it rests on."""

    contract: Contract
    bound: Bound
    finding: Finding
    observations: tuple[Observation, ...]
    seed: int
    seconds: float
    kernel: LoadReport | None = None

    @property
    def verdict(self) -> Verdict:
        return self.finding.verdict


def contracts_for(
    operation: str | None, contract: str | None, chosen: Sequence[str] | None = None
) -> tuple[Contract, ...]:
    """The contracts to check: those of a library operation, or of FILE[:NAME]. Raises UsageError when there is none."""
    if contract is not None:
        found = _from_file(contract)
    elif operation is not None:
        found = _from_library(operation)
    else:
        raise UsageError("say what the kernel is: --as OPERATION for the standard library, or --contract FILE[:NAME]")
    if chosen:
        unknown = [c for c in chosen if c not in classes()]
        if unknown:
            raise UsageError(f"there is no contract class {unknown[0]}; {did_you_mean(unknown[0], classes())}")
        kept = tuple(c for c in found if c.class_id in chosen)
        if not kept:
            has = ", ".join(sorted({c.class_id for c in found}))
            raise UsageError(f"no contract of {', '.join(chosen)} applies here; there are contracts of {has}")
        return kept
    return found


def _from_file(contract: str) -> tuple[Contract, ...]:
    path, name = contract, ""
    if not Path(path).exists() and ":" in contract:
        path, _, name = contract.rpartition(":")
    found = load_file(path, vocabulary())
    if not found:
        raise UsageError(f"{path} defines no contract; add one, or name another file")
    if name:
        kept = tuple(c for c in found if c.name == name)
        if not kept:
            raise UsageError(f"{path} has no contract {name}; {did_you_mean(name, [c.name for c in found])}")
        return kept
    return found


def _from_library(operation: str) -> tuple[Contract, ...]:
    path = operation_file(operation)
    if path is not None:
        found = tuple(c for c in load_file(path, vocabulary()) if c.operation == operation)
        if found:
            return found
    found = tuple(c for c in standard_library(vocabulary()) if c.operation == operation)
    if not found:
        names = sorted({c.operation for c in standard_library(vocabulary())})
        raise UsageError(
            f"the standard library has no operation {operation}; "
            f"{did_you_mean(operation, names) or 'see kc list operations'}"
        )
    return found


def select(contract: Contract, native: frozenset[str] | None, options: Options) -> list[Bound]:
    """The dtype choices to measure: those asked for, else those that the stack holds natively."""
    for name in options.dtypes or ():
        if name not in FORMATS:
            raise UsageError(f"there is no number format {name}; {did_you_mean(name, FORMATS)}")
    out: list[Bound] = []
    for bound in contract.bound:
        used = set(bound.dtypes.values())
        if options.dtypes is not None:
            if not used or used & set(options.dtypes):
                out.append(bound)
        elif native is None or all(f.name in native for f in (*bound.inputs.values(), *bound.outputs.values())):
            out.append(bound)
    return out


def measured(
    chosen: Sequence[Contract], native: frozenset[str], options: Options, whose: str
) -> list[tuple[Contract, Bound]]:
    """Every contract with each dtype choice that is measured. Raises UsageError when there is none."""
    pairs = [(c, b) for c in chosen for b in select(c, native, options)]
    if pairs:
        return pairs
    used = [{f.name for f in (*b.inputs.values(), *b.outputs.values())} for c in chosen for b in c.bound]
    lacking = sorted(set.intersection(*(names - native for names in used))) if used else []
    if lacking and not options.dtypes:
        raise UsageError(
            f"{whose} holds no {' and no '.join(lacking)} by itself, which every contract here needs; "
            f"see the variants in kc list stacks, or ask for formats with --dtype"
        )
    covered = ", ".join(sorted({d for c in chosen for b in c.bound for d in b.dtypes.values()}))
    raise UsageError(f"no contract is for {', '.join(options.dtypes or ()) or whose}; they cover {covered}")


def check_contract(
    contract: Contract, bound: Bound, kernel: Callee, options: Options, *, seed: int, watch: Watch | None = None,
    report: LoadReport | None = None, extra: Sequence[Case] = (), known: Known | None = None,
    started: Started | None = None,
) -> Result:  # fmt: skip
    """Measures one contract for one choice of dtypes and judges it. `extra` cases come before the planned ones.

    `known` keeps inputs and oracle answers, for other kernels under this very contract and choice; `started` keeps
    processes of the kernel, for its other choices.
    """
    began = time.perf_counter()
    klass = classes()[contract.class_id]
    unknown = [p for p in options.params if p not in {s.name for s in contract.scalars}]
    fixed = {k: v for k, v in options.params.items() if k not in unknown}
    plan = klass.plan(contract, bound)
    experiment = experiments()[plan.experiment]
    cases = experiment.cases(contract, bound, plan, seed=seed, samples=options.samples, fixed=fixed)
    session = Session(contract, bound, kernel, ladder(), tuple(mutants()), known, started)
    cases = [*extra, *experiment.completed(session, cases)]
    seen: list[Observation] = []
    for done, case in enumerate(cases, 1):
        observation = experiment.measure(session, case)
        seen.append(observation)
        if watch is not None:
            watch(contract, bound, done, len(cases), observation)
        if _hopeless(seen):
            break
    given_up = len(seen) < len(cases)
    seen = experiment.finish(session, seen)
    more, notes = ([], ()) if given_up else audited(session, experiment, seen)
    for k, observation in enumerate(more, 1):
        if watch is not None:
            watch(contract, bound, len(cases) + k, len(cases) + len(more), observation)
    seen = [*seen, *more]
    finding = klass.judge(contract, bound, seen)
    if notes and finding.verdict is Verdict.CONFORMS:
        finding = replace(finding, notes=(*finding.notes, *notes))
    if given_up:
        finding = replace(finding, notes=(*finding.notes, _given_up(seen, len(cases))))
    if finding.verdict is Verdict.VIOLATES and finding.witness is not None and options.shrink:
        plain = Session(contract, bound, kernel, ladder())
        ended = finding.witness.outcome
        attempts = _HANGS if ended is Outcome.HUNG else _ENDINGS if ended in _COSTLY else ATTEMPTS
        first = finding.witness

        def alike(seen: Observation) -> bool:
            """A table of one row would fail too, but could no longer tell clamping from wrapping."""
            return fails(seen) and dict(seen.facts) == dict(first.facts)

        small = shrink(contract, first, lambda case: experiment.measure(plain, case), alike, attempts)
        finding = replace(finding, witness=small)
        plain.others.close()
    return Result(contract, bound, finding, tuple(seen), seed, time.perf_counter() - began, report)


def _hopeless(seen: Sequence[Observation]) -> bool:
    """Whether the kernel has ended its process so often that more of the same teaches nothing."""
    ended = [o.outcome in _COSTLY for o in seen if not o.skipped]
    return (len(ended) >= _IN_A_ROW and all(ended[-_IN_A_ROW:])) or sum(ended) >= _ENDINGS


def _given_up(seen: Sequence[Observation], planned: int) -> str:
    ends = [o.outcome for o in seen]
    counts = {end: ends.count(end) for end in _COSTLY}
    words = ", ".join(f"{_COSTLY[end]} {'once' if n == 1 else f'{n} times'}" for end, n in counts.items() if n)
    return f"{planned - len(seen)} of {planned} cases not run: the kernel {words}"


def check_all(
    contracts: Sequence[Contract], kernel: Callee, options: Options, *, native: frozenset[str] | None = None,
    watch: Watch | None = None, report: LoadReport | None = None,
) -> Iterator[Result]:  # fmt: skip
    """Every contract and dtype choice in turn, as results come."""
    seed = options.seed if options.seed is not None else secrets.randbits(63)
    pairs = ((contract, bound) for contract in contracts for bound in select(contract, native, options))
    yield from check_pairs(pairs, kernel, options, seed=seed, watch=watch, report=report)


def check_pairs(
    pairs: Iterable[tuple[Contract, Bound]], kernel: Callee, options: Options, *, seed: int,
    watch: Watch | None = None, report: LoadReport | None = None,
) -> Iterator[Result]:  # fmt: skip
    """Contracts with their choices of dtypes, those of one contract side by side: they share processes."""
    for _, choices in groupby(pairs, key=lambda pair: pair[0].name):
        with closing(Started()) as started:
            for contract, bound in choices:
                yield check_contract(
                    contract, bound, kernel, options, seed=seed, watch=watch, report=report, started=started
                )


def witness_of(result: Result, report: LoadReport, *, target: str, stack: str, device: str) -> Witness | None:
    """What a replay of a violation needs, its inputs made again from the seed; None where nothing is violated."""
    found, signature = result.finding.witness, result.finding.signature
    if result.verdict is not Verdict.VIOLATES or found is None or signature is None:
        return None
    session = Session(result.contract, result.bound, _Nobody(), ladder())
    inputs = experiment_of(result.contract, result.bound).inputs(session, found.case)
    worst = next((r.worst for r in found.outputs if r.worst is not None), None)
    seen = {"outcome": found.outcome.value, "detail": found.detail} if worst is None else asdict(worst)
    formats = {n: f.name for n, f in result.bound.inputs.items()}
    return Witness(
        result.contract.source, result.contract.name, found.case, inputs, formats, target, stack, device,
        signature.name, signature.detail, seen, report.fingerprint, str(Path(result.contract.path).resolve()),
    )  # fmt: skip


def experiment_of(contract: Contract, bound: Bound) -> Experiment:
    """How the contract's class measures."""
    return experiments()[classes()[contract.class_id].plan(contract, bound).experiment]


class _Nobody:
    """Stands where no kernel is called."""

    def call(self, *args: Any, **kwargs: Any) -> Any:
        raise AssertionError("no kernel is called here")

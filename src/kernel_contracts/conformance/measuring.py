"""One cell: the verdict on a contract for one choice of dtypes on one platform, and the answers to the fixed set.

Runs in a process of its own beside others, so it gives back text for files and writes nothing.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

from kernel_contracts.checking import Options, Result, check_contract, witness_of
from kernel_contracts.conformance.fixed import FEATURES, feature_cases, fixed_cases, inputs_of
from kernel_contracts.conformance.manifest import Cell
from kernel_contracts.conformance.platforms import Platform
from kernel_contracts.conformance.recording import Recorded, record
from kernel_contracts.contracts.evidence import Case, Finding, Observation, Outcome, Verdict
from kernel_contracts.contracts.model import Bound, Contract
from kernel_contracts.errors import ArithmeticScopeError, KernelContractsError, TargetError, UsageError
from kernel_contracts.measurement.calls import LoadReport
from kernel_contracts.measurement.fingerprint import digest
from kernel_contracts.measurement.known import Known
from kernel_contracts.measurement.process import Kernel
from kernel_contracts.measurement.ranked import Ranks, opened
from kernel_contracts.measurement.session import Session
from kernel_contracts.measurement.spawning import Started
from kernel_contracts.numerics.bounded import Array
from kernel_contracts.oracles import ladder
from kernel_contracts.report.records import kernel_record, line, result_record, trace_record

SCHEMA = 1
_OPEN = 16
"""Kernels that are kept open at once."""
_HUNG, _ENDED = 2, 12
"""A kernel is asked no more after so many hangs, each of which costs the whole time limit, or ended processes."""


@dataclass(frozen=True, slots=True)
class Job:
    """A cell with everything that its measurement needs."""

    cell: Cell
    contract: Contract
    bound: Bound
    platform: Platform
    target: str
    seed: int
    samples: int | None
    timeout: float
    memory: int
    beyond: tuple[str, ...] = ()
    """Features outside of the contract's domain to look at."""

    @property
    def kernel(self) -> tuple[str, ...]:
        """Cells with the same kernel can share its process."""
        return (self.platform.name, self.target, self.contract.ranks or "")

    @property
    def operation(self) -> str:
        """Cells of one operation are measured one after another, so that their kernels stay open."""
        return self.contract.operation

    @property
    def question(self) -> str:
        """Cells with the same question share inputs and what the oracle says, for each choice of dtypes.

        Requirement: jobs are of one run, where a name stands for one contract and all have one seed.
        """
        return self.contract.name


@dataclass(frozen=True, slots=True)
class Measured:
    """What a cell came to."""

    cell: Cell
    record: dict[str, Any]
    traces: str = ""
    fingerprint: dict[str, Any] = field(default_factory=dict)
    witness: str = ""
    """Of a violation: what `kc replay` runs again."""


class Bench:
    """Measures cells one after another; keeps kernels' processes while the cells are of one operation.

    What does not depend on the kernel is worked out for the first platform only.
    """

    def __init__(self) -> None:
        self._operation = ""
        self._kernels: dict[tuple[str, ...], Kernel | Ranks] = {}
        self._question = ""
        self._asked: dict[str, tuple[Job, Known]] = {}
        """For each choice of dtypes of the question, the first job and what is known since."""
        self._started: tuple[tuple[str, ...], Started] = ((), Started())
        """Other processes of the kernel asked last, for its next choice of dtypes."""

    def close(self) -> None:
        self._started[1].close()
        for key in list(self._kernels):
            self._drop(key)

    def _drop(self, key: tuple[str, ...]) -> None:
        kernel = self._kernels.pop(key, None)
        if kernel is not None:
            kernel.close()

    def measure(self, job: Job) -> Measured:
        """The cell. Whatever the kernel does is in the record; a platform that cannot be used is one, too."""
        job, known = self._shared(job)
        try:
            kernel = self._opened(job)
            report = kernel.load()
        except (TargetError, UsageError) as error:
            self._drop(job.kernel)
            return without(job, Finding(Verdict.INAPPLICABLE, str(error)), unavailable=True)
        try:
            return self._measured(job, kernel, report, known)
        except ArithmeticScopeError as impossible:  # the stack has no such format, or no input meets the contract
            return without(job, Finding(Verdict.INAPPLICABLE, str(impossible)))
        except KernelContractsError as error:
            self._drop(job.kernel)
            return without(job, Finding(Verdict.ERROR, str(error)))

    def _shared(self, job: Job) -> tuple[Job, Known]:
        """The job with the contract of one before where that is the same, and what is known of it."""
        if self._question != job.question:
            self._question, self._asked = job.question, {}
        first, known = self._asked.setdefault(job.bound.label, (job, Known()))
        return replace(job, contract=first.contract, bound=first.bound), known

    def _others(self, job: Job) -> Started:
        """Other processes of this kernel: those that the contract's last choice of dtypes used, if it was on it."""
        key = (*job.kernel, job.question)
        if self._started[0] != key:
            self._started[1].close()
            self._started = (key, Started())
        return self._started[1]

    def _opened(self, job: Job) -> Kernel | Ranks:
        if self._operation != job.operation:
            self.close()
            self._operation = job.operation
        kernel = self._kernels.pop(job.kernel, None)
        if kernel is None:
            while len(self._kernels) >= _OPEN:
                self._drop(next(iter(self._kernels)))
            kernel = opened(
                [job.contract], job.target, stack=job.platform.stack, device=job.platform.device, timeout=job.timeout,
                memory_mb=job.memory,
            )  # fmt: skip
        self._kernels[job.kernel] = kernel  # the one used last is dropped last
        return kernel

    def _measured(self, job: Job, kernel: Kernel | Ranks, report: LoadReport, known: Known) -> Measured:
        fixed = fixed_cases(job.contract, job.bound, job.seed)
        options = Options(samples=job.samples, seed=job.seed)
        result = check_contract(
            job.contract, job.bound, kernel, options, seed=job.seed, report=report, extra=fixed, known=known,
            started=self._others(job),
        )  # fmt: skip
        session = Session(job.contract, job.bound, kernel, ladder(), known=known)
        asking = _Asking(session, result.observations)
        answers = asking.answers(fixed, partial(inputs_of, session))
        others = {}
        for name in job.beyond:
            cases = feature_cases(name, job.contract, job.bound, job.seed)
            others[name] = asking.answers(cases, partial(FEATURES[name].inputs, session))
        session.others.close()
        platform = digest(report.fingerprint)
        traces = "".join(
            line(trace_record(job.contract, job.bound, seen, kernel=report.sha256, platform=platform)) + "\n"
            for seen in result.observations
        )
        made = _record(job, result.finding, result, report, platform)
        made |= {"fixed": [a.as_json() for a in answers]}
        made |= {"beyond": {n: [a.as_json() for a in found] for n, found in others.items() if found}}
        witness = witness_of(result, report, target=job.target, stack=job.platform.stack, device=job.platform.device)
        if witness is not None:
            made["result"]["witness"] = f"witness/{job.cell.path}.json"
        return Measured(job.cell, made, traces, dict(report.fingerprint), witness.text() if witness else "")


class _Asking:
    """Asks a kernel for its answers to fixed inputs, and gives up on one that hangs or keeps ending its process."""

    def __init__(self, session: Session, observations: Sequence[Observation]) -> None:
        self.session = session
        self.hung = sum(o.outcome is Outcome.HUNG for o in observations)
        self.ended = 0

    def answers(self, cases: Sequence[Case], inputs: Callable[[Case], Mapping[str, Array]]) -> list[Recorded]:
        """One record a case; a case whose inputs cannot be made is left out, on every platform alike."""
        out: list[Recorded] = []
        for case in cases:
            try:
                made = inputs(case)
            except ArithmeticScopeError:
                continue
            tired = self.hung >= _HUNG or self.ended >= _ENDED
            found = record(self.session, case, made, "the kernel gave no answer too often" if tired else "")
            self.hung += found.outcome is Outcome.HUNG
            self.ended += found.outcome in (Outcome.CRASHED, Outcome.OUT_OF_MEMORY)
            out.append(found)
        return out


def without(job: Job, finding: Finding, *, unavailable: bool = False) -> Measured:
    """A cell that was not measured, and why. `unavailable`: it may be possible another time."""
    made = _record(job, finding, None, None, "")
    return Measured(job.cell, {**made, "unavailable": unavailable, "fixed": [], "beyond": {}})


def _record(
    job: Job, finding: Finding, result: Result | None, report: LoadReport | None, platform: str
) -> dict[str, Any]:
    kernel: Mapping[str, Any] = {"target": job.target, "stack": job.platform.stack, "device": job.platform.device}
    if report is not None:
        kernel = kernel_record(job.target, report)
    seconds = result.seconds if result else 0.0
    return {
        "record": "cell",
        "schema": SCHEMA,
        "platform": job.platform.name,
        "fingerprint": platform,
        "measured": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
        "result": result_record(
            job.contract, job.bound, finding, seed=job.seed, seconds=seconds, kernel=kernel, platform=platform
        ),
        "unavailable": False,
    }


def files(measured: Measured, cell_file: str, trace_file: str) -> dict[str, str]:
    """The files of a cell: the platform it ran on, its trace and witness, its record last."""
    out: dict[str, str] = {}
    if measured.fingerprint:
        text = json.dumps(measured.fingerprint, indent=1, sort_keys=True, default=str) + "\n"
        out[f"fingerprints/{measured.record['fingerprint'][:16]}.json"] = text
    if measured.traces:
        out[trace_file] = measured.traces
    if measured.witness:
        out[measured.record["result"]["witness"]] = measured.witness
    out[cell_file] = json.dumps(measured.record, allow_nan=False) + "\n"
    return out

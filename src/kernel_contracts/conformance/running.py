"""`kc run`: plans the cells, measures those that are not done, and keeps each as soon as it is."""

from __future__ import annotations

import secrets
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from kernel_contracts.checking import Options, contracts_for, select
from kernel_contracts.conformance.calibrating import calibrated
from kernel_contracts.conformance.directory import RunDirectory, cell_path, trace_path
from kernel_contracts.conformance.fixed import beyond
from kernel_contracts.conformance.manifest import Cell, Manifest, difference, entry, label, machine
from kernel_contracts.conformance.measuring import Job, Measured, files, without
from kernel_contracts.conformance.platforms import Platform
from kernel_contracts.conformance.workers import Workers
from kernel_contracts.contracts.catalogue import standard_library
from kernel_contracts.contracts.evidence import Finding, Verdict
from kernel_contracts.contracts.model import Contract
from kernel_contracts.errors import UsageError
from kernel_contracts.vocabulary import vocabulary


@dataclass(frozen=True, slots=True)
class Wanted:
    """What the user asks for."""

    what: tuple[str, ...]
    """Operations of the standard library and contract files; none for the whole library."""
    platforms: tuple[Platform, ...]
    classes: tuple[str, ...] | None = None
    dtypes: tuple[str, ...] | None = None
    samples: int | None = None
    seed: int | None = None
    timeout: float = 30.0
    memory: int = 4096
    jobs: int = 1


@dataclass(frozen=True, slots=True)
class Planned:
    """One cell before it is measured: what it takes, or why it cannot be measured."""

    job: Job
    obstacle: str = ""


class Run:
    """One `kc run`: `plan`, then `go`, which yields finished cells as they come, those of before first."""

    def __init__(self, wanted: Wanted, root: Path) -> None:
        self.wanted = wanted
        self.directory = RunDirectory(root)
        self.resumed = False
        self.plans: list[Planned] = []
        self.seed = 0

    def go(self) -> Iterator[tuple[dict[str, Any], bool]]:
        """Each cell's record, and whether it was there already. Raises UsageError where the run cannot go on."""
        contracts = _contracts(self.wanted)
        with self.directory.locked():
            before = self._before()
            self.seed = self._seed(before)
            self.plans = list(_plans(contracts, self.wanted, self.seed))
            if not self.plans:
                raise UsageError("there is nothing to measure: no platform has a kernel and dtypes for these contracts")
            now = self._manifest(contracts)
            if before is None:
                self.directory.begin(now, {c.name: c.source for c in contracts})
            else:
                changed = difference(before, now)
                if changed:
                    raise UsageError(f"{self.directory.root} cannot go on: {changed}; choose another folder with -o")
            yield from self._cells()

    def calibrate(self) -> Iterator[dict[str, Any]]:
        """After `go`: whether each contract separates, where the run does not hold that yet."""
        with self.directory.locked():
            yield from calibrated(self.directory, [p.job for p in self.plans if not p.obstacle], self.seed)

    def _before(self) -> Manifest | None:
        if not (self.directory.root / "manifest.json").is_file():
            return None
        self.directory.mend_ledger()
        self.directory.read_ledger()
        self.resumed = True
        return self.directory.manifest()

    def _seed(self, before: Manifest | None) -> int:
        if self.wanted.seed is not None:
            return self.wanted.seed
        return before.seed if before is not None else secrets.randbits(48)

    def _manifest(self, contracts: Sequence[Contract]) -> Manifest:
        return Manifest(
            self.seed,
            self.wanted.samples,
            self.wanted.timeout,
            self.wanted.memory,
            tuple(p.as_json() for p in self.wanted.platforms),
            tuple(entry(c) for c in contracts),
            tuple(p.job.cell for p in self.plans),
            machine(),
        )

    def _cells(self) -> Iterator[tuple[dict[str, Any], bool]]:
        jobs: list[Job] = []
        for plan in self.plans:
            path = cell_path(plan.job.cell)
            done = self.directory.cell(plan.job.cell) if self.directory.holds(path) else None
            if done is not None and not _again(done, plan):
                yield done, True
            elif plan.obstacle:
                reason = Finding(Verdict.INAPPLICABLE, plan.obstacle)
                yield self._keep(without(plan.job, reason, unavailable=True)), False
            else:
                jobs.append(plan.job)
        if jobs:
            with Workers(min(self.wanted.jobs, len(jobs))) as workers:
                for measured in workers.measure(jobs):
                    yield self._keep(measured), False

    def _keep(self, measured: Measured) -> dict[str, Any]:
        made = files(measured, cell_path(measured.cell), trace_path(measured.cell))
        known = self.directory.digests
        self.directory.put({p: t for p, t in made.items() if not p.startswith("fingerprints/") or p not in known})
        return measured.record


def _again(done: dict[str, Any], plan: Planned) -> bool:
    """Whether a finished cell is worth another try: its platform is there now, or the fault was ours."""
    return done["result"]["verdict"] == Verdict.ERROR.value or (done["unavailable"] and not plan.obstacle)


def _contracts(wanted: Wanted) -> tuple[Contract, ...]:
    """Every contract once, in the order asked for. Raises UsageError where two of one name differ."""
    chosen: dict[str, Contract] = {}
    for what in wanted.what or ("",):
        for contract in _named(what, wanted):
            known = chosen.setdefault(contract.name, contract)
            if known.digest != contract.digest:
                raise UsageError(f"two contracts are called {contract.name}; rename one, results are kept by that name")
    return tuple(chosen.values())


def _named(what: str, wanted: Wanted) -> tuple[Contract, ...]:
    if what:
        is_file = what.partition(":")[0].endswith(".kc")
        return contracts_for(None if is_file else what, what if is_file else None, wanted.classes)
    found = standard_library(vocabulary())
    kept = tuple(c for c in found if wanted.classes is None or c.class_id in wanted.classes)
    return kept or contracts_for("matmul", None, wanted.classes)  # says which class there is not


def _plans(contracts: Sequence[Contract], wanted: Wanted, seed: int) -> Iterator[Planned]:
    """Cells in an order that keeps those of one kernel together."""
    features = beyond(contracts)
    options = Options(dtypes=wanted.dtypes)
    operations = list(dict.fromkeys(c.operation for c in contracts))
    for platform in wanted.platforms:
        _check_kernel(platform, operations)
        for operation in operations:
            target = platform.kernel(operation)
            for contract in (c for c in contracts if c.operation == operation):
                if target is None and not platform.missing:
                    continue
                native = None if platform.missing else platform.native()
                for bound in select(contract, native, options):
                    cell = Cell(platform.name, contract.name, label(bound))
                    beside = features.get((contract.name, bound.label), ())
                    yield Planned(
                        Job(
                            cell, contract, bound, platform, target or "", seed, wanted.samples, wanted.timeout,
                            wanted.memory, beside,
                        ),
                        platform.missing,
                    )  # fmt: skip


def _check_kernel(platform: Platform, operations: Sequence[str]) -> None:
    """One function cannot stand for several operations."""
    if platform.target and not platform.target.endswith(".py") and len(operations) > 1:
        shown = ", ".join(operations[:3])
        raise UsageError(
            f"kernel {platform.name} is one function and the contracts are of {len(operations)} operations "
            f"({shown} ...); name one operation, or a file with a function for each"
        )

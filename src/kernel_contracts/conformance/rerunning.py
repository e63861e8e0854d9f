"""`kc verify --rerun N`: some of the certified calls made again, here and now, by the rules of the certified contract.

The sample is drawn by the system, so nobody could foresee it: a kernel that fails one call in k is found by N calls
with probability 1 - (1 - 1/k)^N. Inputs come from the recorded seeds: a record whose inputs have another digest
than those was not made by measuring.
"""

from __future__ import annotations

import json
import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from kernel_contracts.checking import experiment_of
from kernel_contracts.classes.judging import fails
from kernel_contracts.conformance.directory import trace_path
from kernel_contracts.conformance.manifest import Cell
from kernel_contracts.conformance.readings import Reading, fingerprints, read
from kernel_contracts.conformance.verifying import Reason
from kernel_contracts.contracts.evidence import Observation
from kernel_contracts.contracts.model import Bound, Contract
from kernel_contracts.errors import KernelContractsError, UsageError
from kernel_contracts.measurement.process import Kernel
from kernel_contracts.measurement.ranked import Ranks, opened
from kernel_contracts.measurement.session import Session
from kernel_contracts.measurement.witness import case_from
from kernel_contracts.numerics.mutants import mutants
from kernel_contracts.oracles import ladder


@dataclass(frozen=True, slots=True)
class Call:
    """One certified call, as recorded."""

    contract: Contract
    bound: Bound
    record: Mapping[str, Any]
    target: str
    stack: str
    device: str
    sha256: str
    """Of the kernel's file, as certified."""
    dtypes: str
    number: int
    """Its place among the certified trace records."""

    @property
    def kernel(self) -> tuple[str, str, str, str]:
        """Calls with the same one can share its process."""
        return (self.target, self.stack, self.device, self.contract.ranks or "")

    @property
    def where(self) -> str:
        sizes = ", ".join(f"{k} = {v}" for k, v in self.record["case"]["dims"].items())
        return f"{self.contract.name}, {self.record['case']['family']} inputs at {sizes}"


@dataclass
class Rerun:
    """Calls made again; `reasons` says what came of them."""

    calls: Sequence[Call]
    numpy: str
    """Version of NumPy that the recorded inputs were drawn with: another one may draw others from the same seed."""
    failed: list[str] = field(default_factory=list)
    invented: list[str] = field(default_factory=list)
    impossible: list[str] = field(default_factory=list)
    strangers: list[str] = field(default_factory=list)
    """Files that are not those certified."""
    held: list[Call] = field(default_factory=list)
    """Calls that were made again, could be judged, and do not fail."""
    facts: Mapping[str, Any] = field(default_factory=dict)
    """This machine as the first kernel found it."""
    inputs: bool = True
    """Whether inputs were held against their recorded digests."""

    def reasons(self) -> Iterator[Reason]:
        """Makes the calls."""
        for kernel in dict.fromkeys(c.kernel for c in self.calls):
            mine = [c for c in self.calls if c.kernel == kernel]
            try:
                with opened([c.contract for c in mine], kernel[0], stack=kernel[1], device=kernel[2]) as process:
                    report = process.load()
                    if any(report.sha256 != c.sha256 for c in mine):
                        self.strangers.append(kernel[0])
                        continue
                    same = report.fingerprint.get("numpy", {}).get("version") == self.numpy
                    self.facts, self.inputs = self.facts or report.fingerprint, self.inputs and same
                    for call in mine:
                        self._again(call, process, same)
            except KernelContractsError as error:
                self.impossible.append(str(error))
        total = len(self.calls)
        if self.failed:
            yield Reason("rerun", f"{len(self.failed)} of {total} calls fail here, first {self.failed[0]}")
        if self.invented:
            words = f"{len(self.invented)} of {total} records are not of the inputs of their seeds"
            yield Reason("rerun-inputs", f"{words}, first {self.invented[0]}")
        if self.impossible:
            yield Reason("rerun-impossible", f"not all calls can be made here: {self.impossible[0]}")
        if self.strangers:
            yield Reason("kernel", f"{self.strangers[0]} is not of the file that was certified")
        if not (self.held or self.failed or self.invented or self.impossible or self.strangers):
            yield Reason("rerun-impossible", "none of the calls could be judged here")

    def _again(self, call: Call, process: Kernel | Ranks, same: bool) -> None:
        session = Session(call.contract, call.bound, process, ladder(), tuple(mutants()))
        experiment = experiment_of(call.contract, call.bound)
        try:
            case = case_from(call.record["case"])
            (seen,) = experiment.finish(session, [experiment.measure(session, case)])
        except (ValueError, KeyError, TypeError):
            self.invented.append(call.where)
            return
        finally:
            session.others.close()
        if same and _other_inputs(call, seen):
            self.invented.append(call.where)
        if fails(seen) and seen.oracle_ok:
            self.failed.append(call.where)
        elif seen.oracle_ok and not seen.skipped:
            self.held.append(call)


def _other_inputs(call: Call, seen: Observation) -> bool:
    """Whether an input that was measured then and now has two digests, or was never given one."""
    recorded = call.record["hashes"]
    names = [t.name for t in call.contract.inputs if t.name in seen.hashes]
    return any(recorded.get(n) != seen.hashes[n] for n in names)


def rerun(statement: Mapping[str, Any], root: Path, count: int, target: str = "", *, each: bool = False) -> Rerun:
    """`count` of the certified calls, drawn at random, or with `each` so many of every contract; with `target` on that
    kernel. UsageError where there are none.

    Requirement: nothing is wrong with the certificate and the run otherwise.
    """
    (reading,) = read([root])
    groups = list(_groups(reading, statement, target))
    found = groups if each else [[call for group in groups for call in group]]
    if not any(found):
        raise UsageError(f"{root} records no call that can be made again")
    system = random.SystemRandom()
    drawn = [call for group in found for call in system.sample(group, min(count, len(group)))]
    facts = fingerprints(reading)[statement["predicate"]["platform"]["sha256"][:16]]
    return Rerun(drawn, str(facts.get("numpy", {}).get("version", "")))


def possible(statement: Mapping[str, Any], root: Path) -> frozenset[int]:
    """Places of the certified calls that can be made again. Requirement: as of `rerun`."""
    (reading,) = read([root])
    return frozenset(call.number for group in _groups(reading, statement, "") for call in group)


def _groups(reading: Reading, statement: Mapping[str, Any], target: str) -> Iterator[list[Call]]:
    """The calls of each certified contract."""
    name = statement["predicate"]["platform"]["name"]
    frame = next(p for p in reading.manifest.platforms if p["name"] == name)
    for entry in statement["predicate"]["contracts"]:
        yield list(_calls(reading, entry, name, frame, target))


def _calls(
    reading: Reading, entry: Mapping[str, Any], name: str, frame: Mapping[str, str], target: str
) -> Iterator[Call]:
    cell = Cell(name, entry["name"], entry["dtypes"])
    record = reading.directory.cell(cell)
    assert record is not None
    contract = reading.contract(entry["name"])
    wanted = dict(record["result"]["dtypes"])
    bound = next(b for b in contract.bound if dict(b.dtypes) == wanted)
    recorded = str(record["result"]["kernel"]["target"])
    kernel = f"{target}:{recorded.rpartition(':')[2]}" if target.endswith(".py") else target or recorded
    for number, line in enumerate(reading.directory.text(trace_path(cell)).splitlines(), entry["records"][0]):
        made = json.loads(line)
        if not made["skipped"] and not made["violates"]:
            yield Call(
                contract, bound, made, kernel, frame["stack"], frame.get("device", ""), entry["kernel"],
                entry["dtypes"], number,
            )  # fmt: skip

"""What other runs add to the evidence of one: the same kernel on another machine, and other versions against the same
contract.

A second platform is other silicon, not another name for this one; a version is another file of the kernel or another
release of its stack. Both count only for the very same text of a contract, operation and dtypes. A second platform has
to keep the contract; a version has to have been measured, whatever came out: that is what a history is for.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from kernel_contracts.conformance.directory import MANIFEST, cell_path
from kernel_contracts.conformance.drift import silicon
from kernel_contracts.conformance.grounds import Held, held
from kernel_contracts.conformance.manifest import Cell
from kernel_contracts.conformance.readings import Reading, fingerprints, read
from kernel_contracts.contracts.evidence import Verdict
from kernel_contracts.measurement.fingerprint import digest

_DECIDED = (Verdict.CONFORMS, Verdict.VIOLATES, Verdict.UNDER_SPECIFIED)


@dataclass(frozen=True, slots=True)
class _Seen:
    """One cell as other runs are compared by it."""

    question: tuple[str, str, str]
    """Digest of the contract, operation and dtypes."""
    kernel: str
    """Digest of the kernel's file; empty where it has none."""
    stack: str
    version: str
    silicon: str
    verdict: Verdict
    failures: int

    @property
    def release(self) -> tuple[str, str]:
        return self.kernel, self.version


def opened(runs: Iterable[Path]) -> list[Reading]:
    """Other runs, each by itself: one that is named twice, or is the run itself, adds nothing. Raises UsageError."""
    return [read([run])[0] for run in runs]


def supported(reading: Reading, others: Sequence[Reading]) -> dict[Cell, Held]:
    """The cells of a run (`grounds.held`), with what other runs show of the same kernel and contracts."""
    mine = held(reading)
    if not others:
        return mine
    seen = [s for other in others for s in _seen(other, held(other).values())]
    return {h.cell: _with(h, own, seen) for h, own in zip(mine.values(), _seen(reading, mine.values()), strict=True)}


def identity(reading: Reading) -> str:
    """A digest of a run: of its manifest and of every cell, which name each other only by machine and place."""
    known = reading.directory.digests
    paths = [MANIFEST, *(cell_path(c) for c in reading.manifest.cells)]
    return digest({path: known.get(path, "") for path in paths})


def _seen(reading: Reading, cells: Iterable[Held]) -> list[_Seen]:
    facts = fingerprints(reading)
    return [_one(h, facts.get(str(h.record["fingerprint"])[:16], {})) for h in cells]


def _one(h: Held, facts: Mapping[str, Any]) -> _Seen:
    kernel = h.result["kernel"]
    return _Seen(
        (str(h.result["digest"]), h.operation, h.cell.dtypes),
        str(kernel.get("sha256") or ""), str(kernel.get("stack") or ""), str(kernel.get("stack_version") or ""),
        silicon(facts), h.grounds.verdict, h.grounds.failures,
    )  # fmt: skip


def _with(h: Held, own: _Seen, seen: Sequence[_Seen]) -> Held:
    same = [s for s in seen if s.question == own.question]
    elsewhere = {
        s.silicon
        for s in same
        if s.kernel and s.kernel == own.kernel and s.silicon and s.silicon != own.silicon
        and s.verdict is Verdict.CONFORMS and not s.failures
    }  # fmt: skip
    stack = own.stack.partition("@")[0]
    versions = {
        s.release
        for s in same
        if s.stack.partition("@")[0] == stack and s.release != own.release and s.verdict in _DECIDED
    }
    return replace(h, grounds=replace(h.grounds, elsewhere=len(elsewhere), versions=len(versions)))

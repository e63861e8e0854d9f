"""Runs as they are read for a comparison: checked against their ledgers, contracts read from the recorded text."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from kernel_contracts.conformance.directory import RunDirectory
from kernel_contracts.conformance.manifest import Cell, Manifest
from kernel_contracts.conformance.recording import Recorded, recorded_from
from kernel_contracts.contracts.catalogue import load_text
from kernel_contracts.contracts.evidence import Verdict
from kernel_contracts.contracts.model import Contract
from kernel_contracts.errors import LanguageError, UsageError
from kernel_contracts.vocabulary import vocabulary

_BESIDE = re.compile(r'reference\s+python\s+"[^"]*\.py:')


class Unreadable(UsageError):
    """A contract of a run that cannot be elaborated here: its reference is Python code that did not travel with it."""


@dataclass(frozen=True, slots=True)
class CellReading:
    """One cell as recorded."""

    verdict: Verdict
    reason: str
    signature: str
    seed: int
    digest: str
    fingerprint: str
    fixed: tuple[Recorded, ...]
    beyond: Mapping[str, tuple[Recorded, ...]]


@dataclass
class Reading:
    """One run."""

    label: str
    directory: RunDirectory
    manifest: Manifest
    _cells: dict[Cell, CellReading | None] = field(default_factory=dict)
    _contracts: dict[str, Contract] = field(default_factory=dict)

    @property
    def platforms(self) -> tuple[str, ...]:
        return tuple(p["name"] for p in self.manifest.platforms)

    @property
    def planned(self) -> frozenset[Cell]:
        return frozenset(self.manifest.cells)

    def entry(self, name: str) -> Mapping[str, str] | None:
        """What the manifest says of a contract; None where the run has no such contract."""
        return next((c for c in self.manifest.contracts if c["name"] == name), None)

    def contract(self, name: str) -> Contract:
        """The contract, elaborated from the text in the run. Unreadable where that is not possible here."""
        if name not in self._contracts:
            entry = self.entry(name)
            assert entry is not None
            text = self.directory.text(entry["file"])
            place = self.directory.root / entry["file"]
            if _BESIDE.search(text):  # a run from elsewhere is data: no code that lies in its folder is executed
                raise Unreadable("the contract's reference is Python code in a file, which is not taken from a run")
            try:
                found = load_text(text, str(place), vocabulary())
            except LanguageError as error:
                first = str(error).splitlines()[0]
                raise Unreadable(f"the contract cannot be read here: {first}") from error
            contract = next((c for c in found if c.name == name), None)
            if contract is None or contract.digest != entry["digest"]:
                raise UsageError(f"{place} is not the contract {name} of the run's manifest")
            self._contracts[name] = contract
        return self._contracts[name]

    def cell(self, cell: Cell) -> CellReading | None:
        """The cell; None where it is not finished."""
        if cell not in self._cells:
            self._cells[cell] = self._read(cell)
        return self._cells[cell]

    def _read(self, cell: Cell) -> CellReading | None:
        place = self.directory.root / "cells" / f"{cell.path}.json"
        try:
            data = self.directory.cell(cell)
            return None if data is None else _cell(data)
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise UsageError(f"{place} is not a cell of a run: {type(error).__name__} {error}") from error


def _cell(data: Mapping[str, Any]) -> CellReading:
    result = data["result"]
    detail = f": {result['detail']}" if result["detail"] else ""
    return CellReading(
        Verdict(result["verdict"]),
        str(result["reason"]),
        f"{result['signature']}{detail}" if result["signature"] else "",
        int(result["seed"]),
        str(result["digest"]),
        str(data["fingerprint"]),
        tuple(recorded_from(r) for r in data["fixed"]),
        {str(k): tuple(recorded_from(r) for r in v) for k, v in data["beyond"].items()},
    )


def read(roots: Sequence[Path]) -> tuple[Reading, ...]:
    """The runs, every file checked. UsageError in one sentence where one is no run or was changed."""
    labels = _labels(roots)
    return tuple(_one(root, label) for root, label in zip(roots, labels, strict=True))


def _one(root: Path, label: str) -> Reading:
    directory = RunDirectory(root)
    if not root.is_dir():
        raise UsageError(f"there is no run {root}; make one with kc run -o {root}")
    if directory.busy():
        raise UsageError(f"kc run is still writing to {root}; compare it when that has ended")
    directory.read_ledger()
    manifest = directory.manifest()
    if manifest is None:
        raise UsageError(f"{root} holds no manifest.json; give a folder that kc run wrote")
    directory.verify()
    return Reading(label, directory, manifest)


def _labels(roots: Sequence[Path]) -> list[str]:
    """The folders' names, or as much of their paths as tells them apart."""
    resolved = [r.resolve() for r in roots]
    if len(set(resolved)) != len(resolved):
        raise UsageError("the same run is named twice; name it once to compare its platforms with each other")
    names = [r.name for r in resolved]
    return [str(root) if names.count(name) > 1 else name for root, name in zip(roots, names, strict=True)]


def fingerprints(reading: Reading) -> dict[str, Any]:
    """The recorded fingerprints of a run, by the beginning of their digest."""
    found = {}
    for path in reading.directory.digests:
        if path.startswith("fingerprints/"):
            found[Path(path).stem] = json.loads(reading.directory.text(path))
    return found

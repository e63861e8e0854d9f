"""What a run directory holds about each of its cells, counted for the levels.

Schedules, repetitions and held-out sizes are evidence about a kernel. A contract may draw on every contract of the same
operation, dtypes and platform that the kernel keeps: so the accumulator of a product is not measured under every
schedule once more.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from kernel_contracts.conformance.directory import trace_path
from kernel_contracts.conformance.levels import Grounds
from kernel_contracts.conformance.manifest import Cell
from kernel_contracts.conformance.readings import Reading
from kernel_contracts.contracts.determinism import AXES
from kernel_contracts.contracts.evidence import Verdict
from kernel_contracts.contracts.model import Contract
from kernel_contracts.errors import UsageError

_PROMISES_NOTHING = ("none", "undefined")
Record = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Held:
    """A finished cell as the levels see it."""

    cell: Cell
    operation: str
    record: Record
    traces: tuple[str, ...]
    """Lines as they stand in the file."""
    grounds: Grounds
    """Without what the kernel's other contracts lend."""

    @property
    def result(self) -> Record:
        found: Record = self.record["result"]
        return found


def calibration_path(cell: Cell) -> str:
    return f"calibration/{cell.contract}/{cell.dtypes}.json"


def held(reading: Reading) -> dict[Cell, Held]:
    """Every finished cell of a run, with all that the run holds for it. UsageError where a record is not one."""
    own = {h.cell: h for h in _own(reading)}
    return {cell: _lent(h, own.values()) for cell, h in own.items()}


def _own(reading: Reading) -> Iterator[Held]:
    for cell in reading.manifest.cells:
        record = reading.directory.cell(cell)
        if record is None:
            continue
        contract = reading.contract(cell.contract)
        path = trace_path(cell)
        lines = reading.directory.text(path).splitlines() if path in reading.directory.digests else []
        try:
            calls = [json.loads(line) for line in lines]
            grounds = _counted(contract, record["result"], calls, _separates(reading, cell))
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            place = reading.directory.root / path
            raise UsageError(f"{place} is not the trace of a cell: {type(error).__name__} {error}") from error
        yield Held(cell, contract.operation, record, tuple(lines), grounds)


def _separates(reading: Reading, cell: Cell) -> bool | None:
    path = calibration_path(cell)
    if path not in reading.directory.digests:
        return None
    return bool(json.loads(reading.directory.text(path))["separates"])


def _counted(contract: Contract, result: Record, calls: Sequence[Record], separates: bool | None) -> Grounds:
    made = [c for c in calls if not c["skipped"]]
    open_policy = contract.class_id == "C-ORD-02" and "determinism" not in contract.policies
    weak = [
        f"{name} = {choice}"
        for name, choices in contract.policies.items()
        for choice in choices
        if choice in _PROMISES_NOTHING and (name == "determinism" or name.startswith("out_of_bounds"))
    ]
    return Grounds(
        Verdict(result["verdict"]),
        str(result["detail"] or result["reason"]),
        ("determinism",) if open_policy else (),
        tuple(weak),
        bounded=sum(any(o["size"] > o["exact"] + o["undetermined"] for o in c["outputs"]) for c in made),
        exact=sum(_needs_no_bound(c) for c in made),
        failures=int(result["failures"]),
        separates=separates,
        held_out=sum(str(c["case"]["shape_family"]).startswith("held_out") for c in made),
        schedules=sum("space" in c["facts"] for c in made),
        repeats=0 if weak or open_policy else sum(_repeated(c) for c in made),
        independent=sum(c["oracle"] == "ball" and bool(c["oracle_ok"]) for c in made),
    )


def _needs_no_bound(call: Record) -> bool:
    return not call["outputs"] or any(o["exact"] for o in call["outputs"]) or _repeated(call)


def _repeated(call: Record) -> bool:
    return any(axis in call["facts"] for axis in AXES)


def _lent(mine: Held, others: Iterable[Held]) -> Held:
    """With what the other contracts of the kernel show, as far as it keeps them."""
    kept = [
        h.grounds
        for h in others
        if (h.cell.platform, h.operation, h.cell.dtypes) == (mine.cell.platform, mine.operation, mine.cell.dtypes)
        and h.grounds.verdict is Verdict.CONFORMS
    ]
    sums = {n: sum(getattr(g, n) for g in kept) for n in ("held_out", "schedules", "repeats")}
    return replace(mine, grounds=replace(mine.grounds, **sums))

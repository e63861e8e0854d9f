"""What `kc report` is given, read: run directories, folders of `kc check --keep`, files of results and traces."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

from kernel_contracts.conformance import comparing
from kernel_contracts.conformance.directory import LEDGER, trace_path
from kernel_contracts.conformance.readings import Reading, Unreadable, read
from kernel_contracts.contracts.catalogue import standard_library
from kernel_contracts.contracts.model import Contract
from kernel_contracts.errors import UsageError
from kernel_contracts.report.measured import NOT_JUDGED, Call, Measured, call_from, measured_from
from kernel_contracts.report.page import Column, Source
from kernel_contracts.report.records import TRACE_VERSION
from kernel_contracts.vocabulary import vocabulary

_Key = tuple[str, str, tuple[str, ...], str, str]
"""Contract, digest, dtypes, kernel and platform: what a result and its traces share."""
_BROKEN = (ValueError, KeyError, TypeError, AttributeError)


@dataclass(frozen=True, slots=True)
class Gathered:
    """Everything that a page shows."""

    source: Source
    columns: tuple[Column, ...]
    measured: tuple[Measured, ...]
    comparison: Mapping[str, Any] | None


def gather(places: Sequence[Path]) -> Gathered:
    """Raises UsageError in one sentence where a path is none of these, is empty or is damaged."""
    runs = [p for p in places if p.is_dir() and (p / LEDGER).is_file()]
    others = [p for p in places if p not in runs]
    readings = read(runs) if runs else ()
    found: list[Measured] = []
    for reading in readings:
        found += _of_run(reading, several=len(places) > 1)
    for place in others:
        found += _of_files(place, several=len(places) > 1)
    if not found:
        raise UsageError(
            f"{', '.join(map(str, places))}: nothing was measured there yet; let kc run or kc check finish"
        )
    names = list(dict.fromkeys(m.column for m in found))
    columns = tuple(Column(n, next((m.stack for m in found if m.column == n and m.stack), "")) for n in names)
    return Gathered(_source(places, readings, found), columns, tuple(found), _compared(readings))


def _source(places: Sequence[Path], readings: Sequence[Reading], found: Sequence[Measured]) -> Source:
    title = " and ".join(p.name or str(p) for p in places) if len(places) < 4 else f"{len(places)} sources"
    contracts = len({(m.contract, m.digest) for m in found})
    facts = [f"{contracts} contract{'s' if contracts != 1 else ''}", f"{sum(m.samples for m in found)} cases"]
    seeds = sorted({m.seed for m in found if m.seed is not None})
    if len(seeds) == 1:
        facts.append(f"seed {seeds[0]}")
    open_cells = sum(r.cell(c) is None for r in readings for c in r.planned)
    if open_cells:
        facts.append(f"{open_cells} cells not finished")
    facts += [f"kernel-contracts {t}" for t in sorted({r.manifest.tool for r in readings})]
    machines = {str(r.manifest.machine.get("digest", "")) for r in readings}
    facts += [f"{r.manifest.machine.get('arch', '')} {_cpu(r)}".strip() for r in readings[:1] if len(machines) == 1]
    return Source(title, tuple(f for f in facts if f))


def _cpu(reading: Reading) -> str:
    cpu = reading.manifest.machine.get("cpu")
    return str(cpu.get("model", "")) if isinstance(cpu, Mapping) else ""


def _compared(readings: Sequence[Reading]) -> Mapping[str, Any] | None:
    """The answers of `kc compare`; None where there is nothing to compare."""
    if sum(len(r.platforms) for r in readings) < 2:
        return None
    return comparing.compare(readings).as_json()


# -------------------------------------------------------------------------------- run directories


def _of_run(reading: Reading, *, several: bool) -> Iterator[Measured]:
    directory = reading.directory
    for cell in sorted(reading.planned, key=lambda c: _order(reading, c.platform, c.contract)):
        record = directory.cell(cell)
        if record is None:
            continue
        place = directory.root / "cells" / f"{cell.path}.json"
        try:
            result = record["result"]
            column = f"{reading.label}: {cell.platform}" if several else cell.platform
            path = trace_path(cell)
            lines = directory.text(path).splitlines() if path in directory.digests else []
            calls = tuple(c for line in lines if (c := call_from(json.loads(line))) is not None)
            made = replace(measured_from(result, column), calls=calls)
            witness = str(result.get("witness") or "")
            if witness:
                shown = _witness_call(json.loads(directory.text(witness)))
                made = replace(made, replay=f"kc replay {directory.root / witness}", shown=shown)
        except _BROKEN as error:
            raise UsageError(f"{place} or its trace cannot be read: {type(error).__name__} {error}") from error
        yield _claimed(made, _contract(reading, cell.contract))


def _order(reading: Reading, platform: str, contract: str) -> tuple[int, int]:
    names = [c["name"] for c in reading.manifest.contracts]
    return reading.platforms.index(platform), names.index(contract)


def _contract(reading: Reading, name: str) -> Contract | None:
    try:
        return reading.contract(name)
    except Unreadable:  # its reference is code that did not travel: the page does without its words
        return None


def _claimed(m: Measured, contract: Contract | None) -> Measured:
    """With the contract's own words, and the dim that is summed over: one that the inputs have and the outputs lack."""
    if contract is None:
        return m
    kept = {d for t in contract.outputs for d in t.shape}
    summed = [str(d) for t in contract.inputs for d in t.shape if d not in kept and str(d) in contract.dims]
    return replace(m, claim=" ".join(contract.doc.split()), size=summed[0] if summed else "")


def _witness_call(data: Mapping[str, Any]) -> Call | None:
    return call_from({"case": data["case"], "violates": True})


# -------------------------------------------------------------------------------- files of records


def _of_files(place: Path, *, several: bool) -> list[Measured]:
    """The results in one file or one folder of `kc check --keep`, with the traces that belong to them."""
    results: dict[_Key, Mapping[str, Any]] = {}
    traces: dict[_Key, list[Mapping[str, Any]]] = {}
    calls: dict[_Key, list[Call]] = {}
    for file in _files(place):
        for number, line in enumerate(_text(file).splitlines(), 1):
            if not line.strip():
                continue
            try:
                record = json.loads(line)
                _known(record)
                key = _key(record)
                if record["record"] == "result":
                    measured_from(record, "")
                    results[key] = record  # a file that was appended to: the last word counts
                else:
                    call = call_from(record)
                    traces.setdefault(key, []).append(record)
                    calls.setdefault(key, []).extend([call] if call is not None else [])
            except UsageError as error:
                raise UsageError(f"{file}:{number} {error}") from error
            except _BROKEN as error:
                raise UsageError(
                    f"{file}:{number} is no result or trace of kc check or kc run ({type(error).__name__}); "
                    "give a run directory, a folder of --keep, or a file of --json"
                ) from error
    head = f"{place.stem}: " if several else ""
    made = [_judged(r, head, tuple(calls.get(k, ())), place) for k, r in results.items()]
    made += [_traced(k, traces[k][0], tuple(calls[k]), head) for k in traces if k not in results and calls[k]]
    return [_claimed(m, _library().get(m.digest)) for m in made]


def _files(place: Path) -> list[Path]:
    if place.is_file():
        return [place]
    if not place.exists():
        raise UsageError(f"there is no {place}; give a run directory, a folder of --keep, or a file of --json")
    found = [p for name in ("results.jsonl", "traces.jsonl") if (p := place / name).is_file()]
    if not found:
        raise UsageError(
            f"{place} is no run directory (it has no {LEDGER}) and no folder of kc check --keep (it has no "
            "results.jsonl or traces.jsonl)"
        )
    return found


def _text(file: Path) -> str:
    try:
        return file.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        why = error.strerror if isinstance(error, OSError) else "it is not text"
        raise UsageError(f"{file} cannot be read: {why}") from error


def _known(record: Any) -> None:
    if record["record"] not in ("result", "trace"):
        raise ValueError(record["record"])
    if record["schema"] != TRACE_VERSION:
        raise UsageError(
            f"is of version {record['schema']} of the records and this tool reads version {TRACE_VERSION}; "
            "measure again"
        )


def _key(record: Mapping[str, Any]) -> _Key:
    kinds = record["dtypes"] if record["record"] == "result" else record["case"]["dtypes"]
    kernel = record["kernel"]["sha256"] if record["record"] == "result" else record["kernel"]
    return (
        str(record["contract"]), str(record["digest"]), tuple(map(str, kinds.values())), str(kernel),
        str(record["platform"]),
    )  # fmt: skip


def _judged(record: Mapping[str, Any], head: str, calls: tuple[Call, ...], place: Path) -> Measured:
    kernel = record["kernel"]
    name = str(kernel.get("name") or kernel.get("target", "kernel"))
    made = replace(measured_from(record, f"{head}{name} on {kernel.get('stack', '?')}"), calls=calls)
    witness = str(record.get("witness") or "")
    if not witness:
        return made
    made = replace(made, replay=f"kc replay {witness}")
    for path in (Path(witness), place / "witness" / Path(witness).name):
        if path.is_file():
            try:
                return replace(made, shown=_witness_call(json.loads(_text(path))), replay=f"kc replay {path}")
            except _BROKEN as error:
                raise UsageError(f"{path} is no witness: {type(error).__name__} {error}") from error
    return made


def _traced(key: _Key, record: Mapping[str, Any], calls: tuple[Call, ...], head: str) -> Measured:
    """Traces whose result is not here: counted, not judged."""
    name, digest, kinds, kernel, platform = key
    column = f"{head}kernel {kernel[:8] or '?'} on {platform[:8] or '?'}"
    library = _library().get(digest)
    return Measured(
        column, name, str(record["version"]), str(record["class"]), library.operation if library else "",
        ", ".join(kinds), digest, NOT_JUDGED, "", max(c.ratio for c in calls), samples=len(calls),
        failures=sum(c.fails for c in calls), calls=calls,
    )  # fmt: skip


@cache
def _library() -> dict[str, Contract]:
    return {c.digest: c for c in standard_library(vocabulary())}

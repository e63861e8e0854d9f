"""`kc compare`: pairs the platforms of one run or several, and has the arbiter settle every contract for each pair."""

from __future__ import annotations

import contextlib
import itertools
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from kernel_contracts.conformance.arbiter import Evidence, Judgement, Ruling, Standing, arbitrate
from kernel_contracts.conformance.confronting import Confrontation, claimed, formats_of
from kernel_contracts.conformance.manifest import Cell, label
from kernel_contracts.conformance.readings import CellReading, Reading, Unreadable
from kernel_contracts.contracts.evidence import Verdict
from kernel_contracts.contracts.model import Bound, Contract
from kernel_contracts.errors import UsageError
from kernel_contracts.report.records import number
from kernel_contracts.version import VERSION

SCHEMA = 1


@dataclass(frozen=True, slots=True)
class Side:
    """A platform of a run."""

    run: int
    """Place of the run among those compared."""
    platform: str
    name: str
    """How it is called in the answer."""


@dataclass(frozen=True, slots=True)
class Row:
    """One contract, choice of dtypes and pair, settled."""

    contract: str
    version: str
    class_id: str
    operation: str
    dtypes: Mapping[str, str]
    a: str
    b: str
    judgement: Judgement

    def as_json(self) -> dict[str, Any]:
        j = self.judgement
        return {
            "contract": self.contract,
            "version": self.version,
            "class": self.class_id,
            "operation": self.operation,
            "dtypes": dict(self.dtypes),
            "a": self.a,
            "b": self.b,
            "ruling": j.ruling.value,
            "reason": j.reason,
            "ratio": number(j.ratio),
            "differing": j.differing,
            "elements": j.elements,
            "signature_a": j.signature_a or None,
            "signature_b": j.signature_b or None,
            "missing_clause": j.clause or None,
        }


@dataclass(frozen=True, slots=True)
class Comparison:
    """Everything that was settled."""

    readings: tuple[Reading, ...]
    sides: tuple[Side, ...]
    pairs: tuple[tuple[Side, Side], ...]
    rows: tuple[Row, ...]
    unshared: Mapping[tuple[str, str], int]
    """For each pair, cells that only one of the two platforms offers."""

    @property
    def alone(self) -> tuple[str, ...]:
        """Platforms that nothing was compared with."""
        paired = {s.name for pair in self.pairs for s in pair}
        return tuple(s.name for s in self.sides if s.name not in paired)

    @property
    def status(self) -> int:
        """0 all settled, 1 a violation or a gap in a contract, 2 not comparable."""
        counts = Counter(r.judgement.ruling for r in self.rows)
        accused = (Ruling.A_VIOLATES, Ruling.B_VIOLATES, Ruling.BOTH_VIOLATE, Ruling.UNDER_SPECIFIED)
        if any(counts[r] for r in accused):
            return 1
        return 2 if counts[Ruling.NOT_COMPARABLE] or not self.rows else 0

    def matrix(self) -> list[dict[str, Any]]:
        """For each pair, the cells that were compared, and how many agree bit for bit and within the contract."""
        out = []
        for a, b in self.pairs:
            mine = [r for r in self.rows if (r.a, r.b) == (a.name, b.name)]
            compared = [r for r in mine if r.judgement.ruling is not Ruling.NOT_COMPARABLE]
            out.append(
                {
                    "a": a.name,
                    "b": b.name,
                    "cells": len(compared),
                    "identical": sum(r.judgement.ruling is Ruling.IDENTICAL for r in compared),
                    "within": sum(r.judgement.settled for r in compared),
                    "not_comparable": len(mine) - len(compared),
                    "unshared": self.unshared.get((a.name, b.name), 0),
                }
            )
        return out

    def as_json(self) -> dict[str, Any]:
        counts = Counter(r.judgement.ruling for r in self.rows)
        return {
            "record": "comparison",
            "schema": SCHEMA,
            "tool": VERSION,
            "runs": [
                {
                    "label": r.label,
                    "seed": r.manifest.seed,
                    "tool": r.manifest.tool,
                    "machine": str(r.manifest.machine.get("digest", "")),
                    "manifest": r.directory.digests["manifest.json"],
                }
                for r in self.readings
            ],
            "platforms": [
                {
                    "name": s.name,
                    "run": self.readings[s.run].label,
                    "platform": s.platform,
                    "fingerprints": _fingerprints(self.readings[s.run], s.platform),
                }
                for s in self.sides
            ],
            "alone": list(self.alone),
            "matrix": self.matrix(),
            "counts": {ruling.value: counts[ruling] for ruling in Ruling},
            "rows": [r.as_json() for r in self.rows],
            "status": self.status,
        }


def _fingerprints(reading: Reading, platform: str) -> list[str]:
    cells = (reading.cell(c) for c in reading.planned if c.platform == platform)
    return sorted({c.fingerprint for c in cells if c is not None and c.fingerprint})


def compare(readings: Sequence[Reading], only: Sequence[str] = ()) -> Comparison:
    """Settles every contract for every pair; `only` names platforms to compare. UsageError where there is no pair."""
    sides = _sides(readings)
    if only:
        known = {s.name for s in sides} | {s.platform for s in sides}
        strange = [o for o in only if o not in known]
        if strange:
            raise UsageError(f"there is no platform {strange[0]} in these runs; they have {', '.join(sorted(known))}")
        sides = tuple(s for s in sides if s.name in only or s.platform in only)
    pairs = _pairs(readings, sides)
    if not pairs:
        raise UsageError(
            "there is only one platform and nothing to compare it with; give another run, or one of several stacks"
        )
    unshared: Counter[tuple[str, str]] = Counter()
    companions = _companions(readings)
    rows = [row for name in _contract_names(readings) for row in _rows(name, readings, pairs, companions, unshared)]
    order = {(a.name, b.name): k for k, (a, b) in enumerate(pairs)}
    return Comparison(tuple(readings), sides, pairs, tuple(sorted(rows, key=lambda r: order[r.a, r.b])), dict(unshared))


def _sides(readings: Sequence[Reading]) -> tuple[Side, ...]:
    several = len(readings) > 1
    return tuple(Side(k, p, f"{r.label}:{p}" if several else p) for k, r in enumerate(readings) for p in r.platforms)


def _pairs(readings: Sequence[Reading], sides: Sequence[Side]) -> tuple[tuple[Side, Side], ...]:
    """All pairs of one run. Between runs: platforms of the same name, then those that have no namesake."""
    if len(readings) == 1:
        return tuple(itertools.combinations(sides, 2))
    out: list[tuple[Side, Side]] = []
    for one, other in itertools.combinations(range(len(readings)), 2):
        ours, theirs = [s for s in sides if s.run == one], [s for s in sides if s.run == other]
        mine, named = {s.platform for s in ours}, {s.platform: s for s in theirs}
        out += [(s, named[s.platform]) for s in ours if s.platform in named]
        out += itertools.product(
            [s for s in ours if s.platform not in named], [s for s in theirs if s.platform not in mine]
        )
    return tuple(out)


def _contract_names(readings: Sequence[Reading]) -> list[str]:
    return list(dict.fromkeys(c["name"] for r in readings for c in r.manifest.contracts))


def _rows(
    name: str, readings: Sequence[Reading], pairs: Sequence[tuple[Side, Side]],
    companions: Mapping[tuple[str, ...], frozenset[str]], unshared: Counter[tuple[str, str]],
) -> Iterator[Row]:  # fmt: skip
    """One contract for every pair."""
    reader = next(r for r in readings if r.entry(name) is not None)
    try:
        contract = reader.contract(name)
    except Unreadable as error:
        yield from _unread(name, readings, pairs, str(error))
        return
    for bound in contract.bound:
        met = Confrontation(contract, bound, companions.get(formats_of(contract, bound), frozenset()))
        for a, b in pairs:
            evidence = _evidence(met, label(bound), (readings[a.run], a), (readings[b.run], b), len(readings) > 1)
            if evidence is None:
                unshared[a.name, b.name] += _offered(name, bound, readings, a, b)
                continue
            yield Row(
                name, contract.version, contract.class_id, contract.operation, dict(bound.dtypes), a.name, b.name,
                arbitrate(evidence),
            )  # fmt: skip


def _unread(
    name: str, readings: Sequence[Reading], pairs: Sequence[tuple[Side, Side]], why: str
) -> Iterator[Row]:  # fmt: skip
    """Cells of a contract that cannot be read here: nothing is said about them."""
    entry = next(e for r in readings if (e := r.entry(name)) is not None)
    for a, b in pairs:
        ours, theirs = (
            {c.dtypes for c in readings[s.run].planned if (c.platform, c.contract) == (s.platform, name)}
            for s in (a, b)
        )
        for dtypes in sorted(ours & theirs):
            yield Row(
                name, entry["version"], entry["class"], entry["operation"], {"dtypes": dtypes}, a.name, b.name,
                Judgement(Ruling.NOT_COMPARABLE, why),
            )  # fmt: skip


def _companions(readings: Sequence[Reading]) -> dict[tuple[str, ...], frozenset[str]]:
    first = {c["name"]: r for r in reversed(readings) for c in r.manifest.contracts}
    contracts: list[Contract] = []
    for name, reading in first.items():
        with contextlib.suppress(Unreadable):  # told in its own rows
            contracts.append(reading.contract(name))
    return claimed((c, b) for c in contracts for b in c.bound)


def _offered(name: str, bound: Bound, readings: Sequence[Reading], a: Side, b: Side) -> int:
    """1 where at least one of the two has the cell."""
    return int(any(Cell(s.platform, name, label(bound)) in readings[s.run].planned for s in (a, b)))


def _evidence(
    met: Confrontation, dtypes: str, left: tuple[Reading, Side], right: tuple[Reading, Side], several: bool
) -> Evidence | None:
    """What the arbiter is told; None where one of the two does not offer the cell."""
    name = met.contract.name
    unknown = [r.label for r, _ in (left, right) if r.entry(name) is None]
    planned = [Cell(s.platform, name, dtypes) in r.planned for r, s in (left, right)]
    nothing = Standing(Verdict.INCONCLUSIVE)
    if unknown and any(planned):
        return Evidence(nothing, nothing, obstacles=(f"run {unknown[0]} does not have the contract",))
    if not all(planned):
        return None
    read = [r.cell(Cell(s.platform, name, dtypes)) for r, s in (left, right)]
    missing = [s.name for (_, s), c in zip((left, right), read, strict=True) if c is None]
    if missing:
        return Evidence(nothing, nothing, obstacles=(f"{missing[0]} has not finished this cell",))
    a, b = (c for c in read if c is not None)
    if Verdict.INAPPLICABLE in (a.verdict, b.verdict):
        return None
    ours, theirs = (Standing(c.verdict, c.reason, c.signature) for c in (a, b))
    evidence = Evidence(ours, theirs)
    obstacles = _obstacles(met, a, b) if several or a.seed != b.seed else met.obstacles(a.fixed, b.fixed)
    if obstacles:
        return replace(evidence, obstacles=obstacles)
    gaps = met.gaps(a.fixed, b.fixed)
    for feature in sorted({*a.beyond} & {*b.beyond}):
        gaps += met.beyond(feature, a.beyond[feature], b.beyond[feature])
    return replace(evidence, gaps=gaps)


def _obstacles(met: Confrontation, a: CellReading, b: CellReading) -> tuple[str, ...]:
    """Other contract, other seed, other inputs."""
    if a.digest != b.digest:
        return (f"the contract reads differently in the two runs (digests {a.digest[:12]} and {b.digest[:12]})",)
    if a.seed != b.seed:
        return (f"the runs have other seeds ({a.seed} and {b.seed}): give both the same --seed",)
    return met.obstacles(a.fixed, b.fixed)

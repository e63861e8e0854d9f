"""A certificate: what a run shows about the kernels of one platform, as an in-toto statement in a signed envelope.

The statement carries the contracts' text, the profile and the grounds of each level, so that a buyer who has nothing
but this file and a public key can recompute every level in it.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from kernel_contracts.conformance import merkle
from kernel_contracts.conformance.beside import identity, supported
from kernel_contracts.conformance.directory import MANIFEST, cell_path
from kernel_contracts.conformance.grounds import Held, calibration_path
from kernel_contracts.conformance.levels import Grade, Grounds, upper95
from kernel_contracts.conformance.profiles import Profile, Standing, standings
from kernel_contracts.conformance.readings import Reading, fingerprints
from kernel_contracts.errors import UsageError
from kernel_contracts.version import VERSION

STATEMENT = "https://in-toto.io/Statement/v1"
PREDICATE = "urn:kernel-contracts:conformity:1"
ENVELOPE = "application/vnd.in-toto+json"
RETEST = ("C-PRC-01", "C-PRC-03", "C-ORD-01", "C-CMP-02", "C-EXC-01", "C-EXC-02")
"""Classes to measure again after every change of version."""
VOID = ("kernel", "silicon", "driver", "runtime")
"""What must not change for a contract of those classes to stay certified."""
_TIME = "%Y-%m-%dT%H:%M:%SZ"
_NO_CODE = "the kernel has no file to take a digest of, so nobody could tell it from another"


@dataclass(frozen=True, slots=True)
class Certificate:
    """A statement before it is signed."""

    statement: dict[str, Any]
    standings: tuple[Standing, ...]

    @property
    def whole(self) -> bool:
        """Whether the profile holds: nothing was refused, and nothing waits for a second assessor."""
        return not any(s.refusal for s in self.standings)


def certify(
    reading: Reading,
    platform: str,
    profile: Profile,
    *,
    days: int,
    scorecard: Path | None = None,
    now: datetime,
    beside: Sequence[Reading] = (),
) -> Certificate:
    """What can be certified of a platform, with what other runs add to it. UsageError where that is nothing at all."""
    cells = [h for h in supported(reading, beside).values() if h.cell.platform == platform]
    found = tuple(_with_code(s) for s in standings(cells, profile))
    certified = [s for s in found if s.awaits or not s.refusal]
    if not certified:
        whys = "; ".join(f"{s.contract}: {s.refusal}" for s in found)
        raise UsageError(f"nothing of profile {profile.name} can be certified for {platform}: {whys}")
    ranges, lines = _evidence(cells)
    entries = [_entry(reading, s, h, g, ranges[h.cell.path]) for s in certified for h, g in s.cells]
    predicate = {
        "schema": 1,
        "tool": VERSION,
        "profile": {
            "name": profile.name, "version": profile.version, "text": profile.text, "sha256": profile.digest,
            "held": not any(s.refusal for s in found),
        },
        "platform": _platform(reading, platform, [h for s in certified for h, _ in s.cells]),
        "contracts": entries,
        "refused": [{"contract": s.contract, "why": s.refusal} for s in found if s.refusal and not s.awaits],
        "awaiting": [s.contract for s in found if s.awaits],
        "evidence": {
            "tree": merkle.NAME, "root": merkle.root(lines), "sorted": merkle.root(sorted(lines)),
            "records": len(lines), "manifest": reading.directory.digests[MANIFEST],
            "beside": sorted(identity(r) for r in beside),
        },
        "scorecard": None if scorecard is None else _digest_of(scorecard),
        "validity": validity(now, days),
    }  # fmt: skip
    statement = {
        "_type": STATEMENT, "subject": _subjects(entries), "predicateType": PREDICATE, "predicate": predicate,
    }  # fmt: skip
    return Certificate(statement, found)


def sign(statement: Mapping[str, Any], signer: Any) -> str:
    """The envelope as text."""
    import rfc8785
    from securesystemslib.dsse import Envelope

    envelope = Envelope(rfc8785.dumps(dict(statement)), ENVELOPE, {})
    envelope.sign(signer)
    return json.dumps(envelope.to_dict(), indent=1) + "\n"


def bounds95(g: Grounds) -> dict[str, float | None]:
    """The stated 95% bound on the failure rate, for each kind of evidence."""
    return {"by_bound": upper95(g.bounded, g.failures), "by_exact": upper95(g.exact, g.failures)}


def validity(issued: datetime, days: int) -> dict[str, Any]:
    """From when to when, and what ends it before."""
    return {
        "issued": stamp(issued), "days": days, "expires": stamp(issued + timedelta(days=days)),
        "void_when_changed": list(VOID), "for_classes": list(RETEST),
    }  # fmt: skip


def stamp(time: datetime) -> str:
    return time.strftime(_TIME)


def moment(text: str) -> datetime:
    return datetime.strptime(text, _TIME).replace(tzinfo=UTC)


def _with_code(standing: Standing) -> Standing:
    bare = any(not h.result["kernel"].get("sha256") for h, _ in standing.cells)
    if not bare or (standing.refusal and not standing.awaits):
        return standing
    return replace(standing, refusal=_NO_CODE, awaits=False)


def _evidence(cells: Sequence[Held]) -> tuple[dict[str, list[int]], list[bytes]]:
    """Every trace record of the platform, and where those of each cell stand."""
    ranges: dict[str, list[int]] = {}
    lines: list[bytes] = []
    for h in cells:
        ranges[h.cell.path] = [len(lines), len(h.traces)]
        lines += [t.encode() for t in h.traces]
    return ranges, lines


def _entry(reading: Reading, standing: Standing, h: Held, g: Grade, where: list[int]) -> dict[str, Any]:
    contract = reading.contract(h.cell.contract)
    digests = reading.directory.digests
    assert standing.demand is not None
    return {
        "name": contract.name, "version": contract.version, "class": contract.class_id,
        "operation": contract.operation, "dtypes": h.cell.dtypes, "text": contract.source, "sha256": contract.digest,
        "demanded": standing.demand.level, "verdict": h.grounds.verdict.value, "level": g.level,
        "by_bound": g.by_bound, "by_exact": g.by_exact, "upper95": bounds95(h.grounds),
        "grounds": h.grounds.as_json(), "kernel": h.result["kernel"]["sha256"], "cell": digests[cell_path(h.cell)],
        "calibration": digests.get(calibration_path(h.cell)), "records": where,
    }  # fmt: skip


def _subjects(entries: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """One for each operation: the kernel's file."""
    kernels = {str(e["operation"]): str(e["kernel"]) for e in entries}
    return [{"name": name, "digest": {"sha256": digest}} for name, digest in kernels.items()]


def _platform(reading: Reading, name: str, cells: Sequence[Held]) -> dict[str, Any]:
    digests = list(dict.fromkeys(str(h.record["fingerprint"]) for h in cells))
    if len(digests) > 1:
        raise UsageError(f"the cells of {name} were measured on {len(digests)} different platforms; run them again")
    kernel = cells[0].result["kernel"]
    return {
        "name": name, "stack": kernel["stack"], "stack_version": kernel["stack_version"], "sha256": digests[0],
        "facts": fingerprints(reading)[digests[0][:16]],
    }  # fmt: skip


def _digest_of(place: Path) -> str:
    try:
        return hashlib.sha256(place.read_bytes()).hexdigest()
    except OSError as error:
        raise UsageError(f"cannot read the scorecard {place}: {error.strerror}; check the path") from error

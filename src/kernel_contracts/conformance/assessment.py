"""Countersignatures as whoever verifies sees them: which of them count, and every reason why one does not.

Requirement: as of `verifying`: whatever a stranger's text holds gives reasons, never an error. A countersignature that
does not count changes nothing about the certificate; the level with those that count is computed here.
"""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from kernel_contracts.conformance.certificate import ENVELOPE, moment
from kernel_contracts.conformance.levels import FEWEST, Grade, grade, grounds_from
from kernel_contracts.conformance.verifying import Reason, enveloped, misshapen
from kernel_contracts.measurement.fingerprint import digest

Entry = tuple[str, str]
"""A certified contract: its name and dtypes."""


@dataclass(frozen=True, slots=True)
class Assessment:
    """One countersignature."""

    keyid: str
    """Of the key that it says it was signed with; empty where it cannot be read."""
    reasons: tuple[Reason, ...]
    """Why it does not count; empty where it does."""
    when: str = ""
    facts: Mapping[str, Any] = field(default_factory=dict)
    """The assessor's machine."""
    records: Mapping[Entry, tuple[int, ...]] = field(default_factory=dict)
    """The calls that were made again, by their places among the certified records."""

    @property
    def made(self) -> int:
        return sum(map(len, self.records.values()))

    @property
    def machine(self) -> str:
        """In the words of whoever made the calls: a stranger's facts may be anything."""
        cpu = self.facts.get("cpu")
        words = self.facts.get("os"), self.facts.get("arch"), cpu.get("model") if isinstance(cpu, Mapping) else cpu
        return " ".join(w for w in words if isinstance(w, str) and w and w.isprintable())[:80]


def assessments(parts: Sequence[bytes], keys: Sequence[Any], now: datetime) -> list[Assessment]:
    """What `verifying.parts` found after the certificate. Requirement: the certificate is valid as far as it goes."""
    envelope, statement = enveloped(parts[0])
    return [_one(part, envelope, statement, keys, now) for part in parts[1:]]


def _one(data: bytes, first: Any, certificate: Mapping[str, Any], keys: Sequence[Any], now: datetime) -> Assessment:
    try:
        envelope, statement = enveloped(data)
    except ValueError as error:
        return Assessment("", (Reason("assessor-format", f"this is no signed envelope ({error})"),))
    if len(envelope.signatures) != 1:
        said = f"it has {len(envelope.signatures)} signatures, and is of one assessor"
        return Assessment("", (Reason("assessor-format", said),))
    (keyid,) = envelope.signatures
    reasons = list(_signature(envelope, keyid, first, keys))
    wrong = misshapen(statement, envelope.payload, "assessment")
    if wrong is not None:
        return Assessment(keyid, (*reasons, Reason(f"assessor-{wrong.name}", wrong.said)))
    said = statement["predicate"]
    reasons += _subject(statement, first)
    reasons += _again(said["contracts"], certificate["predicate"]["contracts"])
    reasons += _platform_and_time(said, certificate["predicate"]["validity"], now)
    records = {(c["name"], c["dtypes"]): tuple(c["records"]) for c in said["contracts"]}
    return Assessment(keyid, tuple(reasons), said["when"], said["platform"]["facts"], records)


def _signature(envelope: Any, keyid: str, first: Any, keys: Sequence[Any]) -> Iterator[Reason]:
    from securesystemslib.exceptions import VerificationError

    if envelope.payload_type != ENVELOPE:
        yield Reason("assessor-envelope-type", f"{envelope.payload_type!r} is not {ENVELOPE}")
    if keyid in first.signatures:
        yield Reason("assessor-same-key", "it was signed with the key that signed the certificate")
    key = next((k for k in keys if k.keyid == keyid), None)
    if key is None:
        yield Reason("assessor-key", f"it was signed with key {keyid[:16]}, which is none of those given")
        return
    try:
        envelope.verify([key], 1)
    except VerificationError:
        yield Reason("assessor-signature", "it was changed after it was signed")


def _subject(statement: Mapping[str, Any], first: Any) -> Iterator[Reason]:
    (subject,) = statement["subject"]
    if subject["digest"]["sha256"] != hashlib.sha256(first.payload).hexdigest():
        yield Reason("assessor-subject", "it is about another certificate")
    elif statement["predicate"]["signed_by"] not in first.signatures:
        yield Reason("assessor-subject", "it is about this certificate as another key signed it")


def _again(said: Sequence[Mapping[str, Any]], certified: Sequence[Mapping[str, Any]]) -> Iterator[Reason]:
    entries = {(c["name"], c["dtypes"]): c for c in certified}
    names = [(c["name"], c["dtypes"]) for c in said]
    if len(names) != len(set(names)) or not set(names) <= set(entries):
        yield Reason("assessor-contracts", "its contracts are not those of the certificate")
        return
    for made in said:
        name, entry = f"{made['name']} {made['dtypes']}", entries[made["name"], made["dtypes"]]
        start, count = entry["records"]
        if made["kernel"] != entry["kernel"]:
            yield Reason("assessor-kernel", f"another kernel than the certified one was called for {name}")
        again = made["records"]
        if again != sorted(set(again)) or not all(start <= n < start + count for n in again):
            yield Reason("assessor-records", f"the calls of {name} are not such as were certified, each once")
    if not any(made["records"] for made in said):
        yield Reason("assessor-nothing", "no call was made again")


def _platform_and_time(said: Mapping[str, Any], valid: Mapping[str, Any], now: datetime) -> Iterator[Reason]:
    if digest(said["platform"]["facts"]) != said["platform"]["sha256"]:
        yield Reason("assessor-platform", "what it says of the platform is not what its digest was taken of")
    try:
        when, issued, expires = (moment(text) for text in (said["when"], valid["issued"], valid["expires"]))
    except ValueError:
        yield Reason("assessor-time", "its date is none")
        return
    if not issued <= when < expires:
        yield Reason("assessor-time", f"the certificate did not count on {said['when']}")
    if when > now:
        yield Reason("assessor-time", f"{said['when']} is yet to come")


def recorded(found: Sequence[Assessment], possible: Collection[int]) -> list[Assessment]:
    """The same where the run is there: calls that it does not hold, or that nobody could make again, count for none."""
    known = frozenset(possible)
    wrong = Reason("assessor-records", "it names calls that the run does not hold, or that cannot be made again")
    return [
        a if all(known.issuperset(r) for r in a.records.values())
        else Assessment(a.keyid, (*a.reasons, wrong), a.when, a.facts, a.records)
        for a in found
    ]  # fmt: skip


def unheard(found: Sequence[Assessment], signed: Collection[str], given: Sequence[str]) -> Iterator[Reason]:
    """Why a key that was given stands for nothing: it did not sign the certificate, and no countersignature of it
    counts."""
    for keyid in (k for k in given if k not in signed and not any(a.keyid == k and not a.reasons for a in found)):
        mine = [a for a in found if a.keyid == keyid]
        yield from (reason for a in mine for reason in a.reasons)
        if not mine:
            said = f"key {keyid[:16]} was given, and signed neither the certificate nor a countersignature of it"
            yield Reason("assessor-missing", said)


def assessors(found: Sequence[Assessment], entry: Mapping[str, Any]) -> int:
    """Keys under which enough calls of a contract were made again: as many as let 3/n bound its failure rate."""
    name = entry["name"], entry["dtypes"]
    return len({a.keyid for a in found if not a.reasons and len(a.records.get(name, ())) >= FEWEST})


def regraded(found: Sequence[Assessment], entry: Mapping[str, Any]) -> Grade:
    """The level of a contract with its assessors. `entry`: one whose grounds have been checked."""
    return grade(grounds_from(entry["grounds"]), assessors(found, entry))


def holds(found: Sequence[Assessment], predicate: Mapping[str, Any]) -> bool:
    """Whether the whole profile holds with them."""
    entries = predicate["contracts"]
    return not predicate["refused"] and all(regraded(found, c).level >= c["demanded"] for c in entries)

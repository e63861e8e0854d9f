"""`kc verify`: every reason not to believe a certificate, each by its name. Nothing here needs the kernel to run.

Requirement: a certificate is text from a stranger. Whatever it holds gives reasons, never an error; and every check
that can be made is made, also after a signature that does not hold, so that one sees what was changed.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from kernel_contracts.conformance.certificate import ENVELOPE, bounds95, moment, validity
from kernel_contracts.conformance.levels import grade, grounds_from
from kernel_contracts.conformance.profiles import profile_from
from kernel_contracts.contracts.evidence import Verdict
from kernel_contracts.errors import KernelContractsError, UsageError
from kernel_contracts.measurement.fingerprint import digest
from kernel_contracts.report.records import schema

LARGEST = 64 << 20
"""Bytes of a certificate; each contract takes a few thousand."""


@dataclass(frozen=True, slots=True)
class Reason:
    """Why not."""

    name: str
    said: str

    def __str__(self) -> str:
        return f"{self.name}: {self.said}"


def enveloped(data: bytes) -> tuple[Any, Any]:
    """The envelope and the statement in it, neither of them checked. ValueError, with a word, where they are none."""
    from securesystemslib.dsse import Envelope
    from securesystemslib.exceptions import Error

    try:
        if len(data) > LARGEST:
            raise ValueError("it is too large")
        envelope = Envelope.from_dict(json.loads(data))
        return envelope, json.loads(envelope.payload)
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError, Error) as error:
        raise ValueError(type(error).__name__) from error


def parts(data: bytes) -> list[bytes]:
    """A certificate's envelope, and after it those of its countersignatures: a file holds one envelope, or one a line
    (the bundle of in-toto's attestation framework)."""
    if len(data) <= LARGEST:
        try:
            json.loads(data)
        except (ValueError, RecursionError):
            return [line for line in data.splitlines() if line.strip()] or [data]
    return [data]


def read_parts(place: Path) -> list[bytes]:
    """The same of a file. UsageError where it cannot be read."""
    try:
        return parts(place.read_bytes())
    except OSError as error:
        raise UsageError(f"cannot read {place}: {error.strerror}; check the path") from error


def misformed(statement: Any, kind: str = "certificate") -> str:
    """The first place where a statement is not as the published schema has it; empty where it is."""
    import jsonschema

    found = next(jsonschema.Draft202012Validator(schema(kind)).iter_errors(statement), None)
    return "" if found is None else "/".join(map(str, found.absolute_path)) or "the statement"


def opened(data: bytes, *keys: Any) -> tuple[dict[str, Any] | None, list[Reason]]:
    """The statement where it can be read at all, and what is wrong with envelope, key, signature and form.

    `keys`: of whom one trusts to sign. One of them has to have signed, and every signature of theirs has to hold.
    """
    from securesystemslib.exceptions import VerificationError

    try:
        envelope, statement = enveloped(data)
    except ValueError as error:
        return None, [Reason("format", f"this is no signed envelope ({error})")]
    reasons = []
    if envelope.payload_type != ENVELOPE:
        reasons.append(Reason("envelope-type", f"{envelope.payload_type!r} is not {ENVELOPE}"))
    signed = [key for key in keys if key.keyid in envelope.signatures]
    if not signed:
        given = "the one given" if len(keys) == 1 else "those given"
        reasons.append(Reason("key", f"it was signed with another key than {given}"))
    else:
        try:
            envelope.verify(signed, len(signed))
        except VerificationError:
            reasons.append(Reason("signature", "it was changed after it was signed"))
    wrong = misshapen(statement, envelope.payload)
    return (None if wrong and wrong.name == "schema" else statement), [*reasons, *([wrong] if wrong else [])]


def misshapen(statement: Any, payload: bytes, kind: str = "certificate") -> Reason | None:
    """What is wrong with the form of a statement, or with the text it stands in."""
    import rfc8785

    place = misformed(statement, kind)
    if place:
        return Reason("schema", f"{place} is not as the published schema has it")
    try:
        canonical = rfc8785.dumps(statement)
    except rfc8785.CanonicalizationError:
        return Reason("schema", "it holds numbers that JSON has no canonical form for")
    return None if canonical == payload else Reason("canonical", "its text is not the canonical one of what it says")


def alone(statement: Mapping[str, Any], now: datetime) -> Iterator[Reason]:
    """What the certificate itself shows. `statement` is of the published schema."""
    predicate = statement["predicate"]
    yield from _validity(predicate["validity"], now)
    yield from _profile(predicate)
    if digest(predicate["platform"]["facts"]) != predicate["platform"]["sha256"]:
        yield Reason("platform", "what it says of the platform is not what its digest was taken of")
    subjects = {s["name"]: s["digest"]["sha256"] for s in statement["subject"]}
    if set(subjects) != {c["operation"] for c in predicate["contracts"]}:
        yield Reason("subject", "its kernels are not those that its contracts are about")
    for entry in predicate["contracts"]:
        yield from _entry(entry, subjects)


def _validity(said: Mapping[str, Any], now: datetime) -> Iterator[Reason]:
    try:
        issued, expires = moment(said["issued"]), moment(said["expires"])
        as_ruled = validity(issued, said["days"])
    except (ValueError, OverflowError):
        yield Reason("expiry", "its dates are none")
        return
    if as_ruled != said:
        yield Reason("expiry", f"its rule gives {as_ruled['expires']}, and it says {said['expires']}")
    if now < issued:
        yield Reason("expired", f"it counts from {said['issued']} on")
    if now >= expires:
        yield Reason("expired", f"it was valid until {said['expires']}")


def _profile(predicate: Mapping[str, Any]) -> Iterator[Reason]:
    said = predicate["profile"]
    try:
        profile = profile_from(said["text"])
    except KernelContractsError:
        yield Reason("profile", "the text of its profile is none")
        return
    if (profile.name, profile.version, profile.digest) != (said["name"], said["version"], said["sha256"]):
        yield Reason("profile", "the text of its profile is not the one of its name, version and digest")
    demands = {d.contract: d for d in profile.demands}
    certified = {c["name"] for c in predicate["contracts"]}
    refused = {r["contract"] for r in predicate["refused"]}
    if certified | refused != set(demands) or certified & refused:
        yield Reason("profile", "its contracts are not those that its profile asks for")
    if said["held"] != (not refused and not predicate["awaiting"]):
        yield Reason("profile", "it says of its profile what its contracts do not")
    for c in predicate["contracts"]:
        demand = demands.get(c["name"])
        if demand and (demand.level != c["demanded"] or not demand.covers(c["version"])):
            yield Reason("profile", f"{c['name']} {c['version']} is not what its profile asks for")
    if set(predicate["awaiting"]) != {c["name"] for c in predicate["contracts"] if c["level"] < c["demanded"]}:
        yield Reason("level", "the contracts that await an assessor are not those below the level asked for")


def _entry(entry: Mapping[str, Any], subjects: Mapping[str, str]) -> Iterator[Reason]:
    name = f"{entry['name']} {entry['dtypes']}"
    if hashlib.sha256(entry["text"].encode()).hexdigest() != entry["sha256"]:
        yield Reason("contract-text", f"the text of {entry['name']} is not the one of its digest")
    if entry["kernel"] != subjects.get(entry["operation"]):
        yield Reason("subject", f"{name} was measured on another kernel than the one certified")
    try:
        grounds = grounds_from(entry["grounds"])
    except (ValueError, KeyError, TypeError):
        yield Reason("level", f"the grounds of {name} are none")
        return
    if entry["verdict"] != grounds.verdict.value or (grounds.verdict is not Verdict.CONFORMS and entry["level"] > 1):
        yield Reason("verdict", f"{name} is said to be {entry['verdict']}, and its grounds are of {grounds.verdict}")
    found = grade(grounds)
    if (found.level, found.by_bound, found.by_exact) != (entry["level"], entry["by_bound"], entry["by_exact"]):
        yield Reason("level", f"the grounds of {name} reach L{found.level}, and it says L{entry['level']}")
    if entry["upper95"] != bounds95(grounds):
        yield Reason("level", f"the 95% bound of {name} does not follow from its grounds")
    if max(entry["level"], grade(grounds, 1).level) < entry["demanded"]:
        yield Reason("level", f"{name} is of L{entry['level']}, and its profile asks for L{entry['demanded']}")

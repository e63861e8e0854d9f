"""A certificate as it stands in its file, for showing: its form is checked, its signature is not."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from kernel_contracts.conformance import keys
from kernel_contracts.conformance.assessment import Assessment, assessments, regraded
from kernel_contracts.conformance.verifying import enveloped, misformed, read_parts
from kernel_contracts.errors import UsageError


def statement_of(place: Path) -> tuple[dict[str, Any], tuple[str, ...]]:
    """The statement in the envelope, and the identifiers of the keys that are said to have signed it.

    Raises UsageError where the file is none of `kc certify`.
    """
    try:
        envelope, statement = enveloped(_parts(place)[0])
    except ValueError as error:
        raise UsageError(f"{place} is no certificate ({error}); give the file that kc certify wrote") from error
    where = misformed(statement)
    if where:
        raise UsageError(f"{place}: {where} is not as the published schema has it; kc verify {place} says more")
    return statement, tuple(envelope.signatures)


def countersigned(place: Path) -> list[dict[str, Any]]:
    """The countersignatures that would count if their signatures hold: key, time, calls, machine, and the contracts
    that they lift, by name and dtypes, each with its level. Requirement: as of `statement_of`, which has read it."""
    envelopes = _parts(place)
    statement = enveloped(envelopes[0])[1]
    seen = assessments(envelopes, [], datetime.now(UTC))
    found = [replace(a, reasons=()) for a in seen if {r.name for r in a.reasons} == {"assessor-key"}]
    return [
        {
            "key": a.keyid, "when": a.when, "calls": a.made, "machine": a.machine,
            "lifts": {(c["name"], c["dtypes"]): level for c, level in _lifted(a, statement)},
        }
        for a in found
    ]  # fmt: skip


def _lifted(a: Assessment, statement: Mapping[str, Any]) -> list[tuple[Mapping[str, Any], int]]:
    try:
        levels = [(c, regraded([a], c).level) for c in statement["predicate"]["contracts"]]
    except (ValueError, KeyError, TypeError):
        return []
    return [(c, level) for c, level in levels if level > c["level"]]


def _parts(place: Path) -> list[bytes]:
    keys.require()
    return read_parts(place)

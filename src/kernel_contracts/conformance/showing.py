"""A certificate as it stands in its file, for showing: its form is checked, its signature is not."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from kernel_contracts.conformance import keys
from kernel_contracts.conformance.verifying import enveloped, misformed
from kernel_contracts.errors import UsageError


def statement_of(place: Path) -> tuple[dict[str, Any], tuple[str, ...]]:
    """The statement in the envelope, and the identifiers of the keys that are said to have signed it.

    Raises UsageError where the file is none of `kc certify`.
    """
    keys.require()
    try:
        data = place.read_bytes()
    except OSError as error:
        raise UsageError(f"cannot read {place}: {error.strerror}; check the path") from error
    try:
        envelope, statement = enveloped(data)
    except ValueError as error:
        raise UsageError(f"{place} is no certificate ({error}); give the file that kc certify wrote") from error
    where = misformed(statement)
    if where:
        raise UsageError(f"{place}: {where} is not as the published schema has it; kc verify {place} says more")
    return statement, tuple(envelope.signatures)

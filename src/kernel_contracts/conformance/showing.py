"""A certificate as it stands in its file, for showing: its form is checked, its signature is not."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from kernel_contracts.conformance import keys
from kernel_contracts.conformance.verifying import LARGEST
from kernel_contracts.errors import UsageError
from kernel_contracts.report.records import schema


def statement_of(place: Path) -> tuple[dict[str, Any], tuple[str, ...]]:
    """The statement in the envelope, and the identifiers of the keys that are said to have signed it.

    Raises UsageError where the file is none of `kc certify`.
    """
    keys.require()
    import jsonschema
    from securesystemslib.dsse import Envelope
    from securesystemslib.exceptions import Error

    try:
        data = place.read_bytes()
    except OSError as error:
        raise UsageError(f"cannot read {place}: {error.strerror}; check the path") from error
    try:
        if len(data) > LARGEST:
            raise ValueError("it is too large")
        envelope = Envelope.from_dict(json.loads(data))
        statement = json.loads(envelope.payload)
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError, Error) as error:
        raise UsageError(
            f"{place} is no certificate ({type(error).__name__}); give the file that kc certify wrote"
        ) from error
    wrong = next(jsonschema.Draft202012Validator(schema("certificate")).iter_errors(statement), None)
    if wrong is not None:
        where = "/".join(map(str, wrong.absolute_path)) or "the statement"
        raise UsageError(f"{place}: {where} is not as the published schema has it; kc verify {place} says more")
    return statement, tuple(envelope.signatures)

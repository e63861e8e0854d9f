"""A countersignature: what a second assessor found when they made certified calls again, signed with their own key.

It is a statement of its own, whose subject is the payload that the first signer signed: so neither can be changed, or
taken for the other, without its signature failing. What it says is what was done, never a level.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from kernel_contracts.conformance.certificate import STATEMENT, stamp
from kernel_contracts.conformance.rerunning import Rerun
from kernel_contracts.conformance.verifying import enveloped
from kernel_contracts.errors import UsageError
from kernel_contracts.measurement.fingerprint import digest
from kernel_contracts.version import VERSION

ASSESSMENT = "urn:kernel-contracts:assessment:1"


def assessed(envelope: bytes, done: Rerun, *, signed_by: str, now: datetime) -> dict[str, Any]:
    """The statement about the certificate in `envelope`, of calls that were made again and hold.

    Requirement: `done` gave no reason against the certificate. UsageError where nothing was made again.
    """
    import rfc8785

    opened, statement = enveloped(envelope)
    if not done.held:
        raise UsageError("no call was made again, so there is nothing to countersign")
    facts = json.loads(rfc8785.dumps(json.loads(json.dumps(dict(done.facts), default=str))))
    return {
        "_type": STATEMENT,
        "subject": [{"name": "certificate", "digest": {"sha256": hashlib.sha256(opened.payload).hexdigest()}}],
        "predicateType": ASSESSMENT,
        "predicate": {
            "schema": 1, "tool": VERSION, "signed_by": signed_by, "when": stamp(now),
            "platform": {"sha256": digest(facts), "facts": facts}, "inputs": done.inputs,
            "contracts": [_again(entry, done) for entry in statement["predicate"]["contracts"]],
        },
    }  # fmt: skip


def _again(entry: Mapping[str, Any], done: Rerun) -> dict[str, Any]:
    mine = [c.number for c in done.held if (c.contract.name, c.dtypes) == (entry["name"], entry["dtypes"])]
    return {"name": entry["name"], "dtypes": entry["dtypes"], "kernel": entry["kernel"], "records": sorted(mine)}


def require_other(parts: Sequence[bytes], keyid: str) -> None:
    """UsageError where the key has signed the certificate, or a countersignature of it, before; and where there are
    countersignatures that cannot be read."""
    for part, what in zip(parts, ("the certificate", *["a countersignature of it"] * len(parts)), strict=False):
        try:
            signatures = enveloped(part)[0].signatures
        except ValueError as error:
            raise UsageError(f"{what} cannot be read; start from the file that kc certify wrote") from error
        if keyid in signatures:
            raise UsageError(f"this key has signed {what} already; a second assessor has a key of their own")


def bundle(envelopes: Sequence[bytes]) -> str:
    """One envelope a line: the certificate's, then those of its countersignatures."""
    return "".join(json.dumps(json.loads(e)) + "\n" for e in envelopes)

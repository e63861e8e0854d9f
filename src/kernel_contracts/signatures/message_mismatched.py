"""A rank sent what does not fit the buffer of the one that receives it."""

from __future__ import annotations

from kernel_contracts.contracts.evidence import Outcome
from kernel_contracts.signatures.base import Evidence, Rule


def match(evidence: Evidence) -> str | None:
    seen = evidence.witness
    known = seen.outcome is Outcome.RAISED and seen.detail.startswith("MessageMismatch")
    return seen.detail.partition(": ")[2] if known else None


RULE = Rule("message_mismatched", "A rank sent what does not fit the receiver's buffer.", 9, match, always=True)

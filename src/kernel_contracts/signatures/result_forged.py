"""A message on the session's channel that the worker did not write."""

from __future__ import annotations

from kernel_contracts.contracts.evidence import Outcome
from kernel_contracts.signatures.base import Evidence, Rule

_WORDS = "tampered with the control channel"


def match(evidence: Evidence) -> str | None:
    seen = evidence.witness
    return seen.detail if seen.outcome is Outcome.CRASHED and seen.detail.startswith(_WORDS) else None


RULE = Rule("result_forged", "A message on the session's channel that the worker did not write.", 5, match, always=True)

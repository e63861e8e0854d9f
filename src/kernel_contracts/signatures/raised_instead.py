"""An exception where the declared policy gives a result."""

from __future__ import annotations

from kernel_contracts.signatures.base import Evidence, Rule


def match(evidence: Evidence) -> str | None:
    seen = evidence.witness
    return f"{seen.case.family} raises {seen.detail}" if seen.readings.get("raised_instead") else None


RULE = Rule("raised_instead", "An exception where the declared policy gives a result.", 9, match, always=True)

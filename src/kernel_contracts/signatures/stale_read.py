"""Data of an earlier call stands where data of this call is due."""

from __future__ import annotations

from kernel_contracts.signatures.base import Evidence, Rule, explained_by, where


def match(evidence: Evidence) -> str | None:
    seen = explained_by(evidence, "stale")
    if seen is None:
        return None
    return f"{where(seen)}: {seen.readings['stale']:.0%} of what is wrong is what the call before would give"


RULE = Rule("stale_read", "Data of an earlier call stands where data of this call is due.", 23, match, always=True)

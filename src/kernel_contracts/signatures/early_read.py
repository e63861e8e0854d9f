"""Memory was read before it held what was due, or refilled before it was read."""

from __future__ import annotations

from kernel_contracts.signatures.base import Evidence, Rule, explained_by, surest, where


def match(evidence: Evidence) -> str | None:
    seen = explained_by(evidence, "unfilled", "other_place")
    if seen is None:
        return None
    if surest(seen) == "unfilled":
        return f"{where(seen)}: memory that nothing had been written to yet"
    share = seen.readings["other_place"]
    return f"{where(seen)}: in {share:.0%} of them the rank's part of another place has been taken"


RULE = Rule(
    "early_read", "Memory was read before it held what was due, or refilled before it was read.", 23, match, always=True
)

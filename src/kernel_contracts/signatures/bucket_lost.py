"""What a rank holds does not reach the result, in all of the data or in a piece of it."""

from __future__ import annotations

from kernel_contracts.signatures.base import Evidence, Rule, explained_by, surest, where


def match(evidence: Evidence) -> str | None:
    seen = explained_by(evidence, "lost", "own_only")
    if seen is None:
        return None
    if surest(seen) == "own_only":
        return f"{where(seen)}: nothing of the other ranks has arrived"
    return f"{where(seen)}: the part of rank {int(seen.readings['lost_rank'])} is missing"


RULE = Rule("bucket_lost", "What a rank holds does not reach the result, or a piece of it.", 24, match, always=True)

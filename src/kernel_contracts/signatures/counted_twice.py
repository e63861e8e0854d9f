"""The part of a rank is in the sum twice."""

from __future__ import annotations

from kernel_contracts.signatures.base import Evidence, Rule, explained_by, where


def match(evidence: Evidence) -> str | None:
    seen = explained_by(evidence, "twice")
    return None if seen is None else f"{where(seen)}: the part of a rank is in the sum twice"


RULE = Rule("counted_twice", "The part of a rank is in the sum twice.", 24, match, always=True)

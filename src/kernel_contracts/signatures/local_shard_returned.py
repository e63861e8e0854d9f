"""Every rank returns what it had."""

from __future__ import annotations

from kernel_contracts.signatures.base import Evidence, Rule, explained_by


def match(evidence: Evidence) -> str | None:
    seen = explained_by(evidence, "own_only")
    if seen is None or seen.readings.get("wrong") != seen.readings.get("of"):
        return None
    return f"on {int(seen.readings['world'])} ranks each returns its own part alone"


RULE = Rule("local_shard_returned", "Every rank returns what it had.", 23, match, always=True)

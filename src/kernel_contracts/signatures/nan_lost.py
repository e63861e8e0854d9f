"""A number where NaN is due."""

from __future__ import annotations

from kernel_contracts.signatures.base import Evidence, Rule


def match(evidence: Evidence) -> str | None:
    seen = evidence.witness
    lost = seen.readings.get("nan_lost", 0.0) + seen.readings.get("index_wrong", 0.0) * ("nan" in seen.facts)
    if not lost:
        return None
    worst = next((r.worst for r in seen.outputs if r.worst is not None), None)
    gives = f" gives {worst.got:g}" if worst is not None else " is lost"
    return f"{seen.case.family}{gives} in {len(_lost(evidence))} of {len(evidence.observations)} cases"


def _lost(evidence: Evidence) -> list[object]:
    return [o for o in evidence.failing if o.readings.get("nan_lost") or o.readings.get("index_wrong")]


RULE = Rule("nan_lost", "A number where NaN is due.", 26, match, always=True)

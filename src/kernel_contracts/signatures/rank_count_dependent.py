"""Right on some numbers of ranks and wrong on others, and nothing else explains it."""

from __future__ import annotations

from kernel_contracts.signatures.base import Evidence, Rule


def match(evidence: Evidence) -> str | None:
    wrong = {int(o.readings["world"]) for o in evidence.failing if "world" in o.readings}
    right = {int(o.readings["world"]) for o in evidence.passing if "world" in o.readings} - wrong
    if not wrong or max(right, default=1) < 2:
        return None
    return f"right on {_listed(right)} ranks, wrong on {_listed(wrong)}"


def _listed(numbers: set[int]) -> str:
    return ", ".join(map(str, sorted(numbers)))


RULE = Rule("rank_count_dependent", "Right on some numbers of ranks and wrong on others.", 61, match, always=True)

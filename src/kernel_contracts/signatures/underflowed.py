"""Zero where the answer is a number that the output can hold."""

from __future__ import annotations

from kernel_contracts.signatures.base import Evidence, Rule


def match(evidence: Evidence) -> str | None:
    readings = [r for o in evidence.failing for r in o.outputs if r.exceeding]
    if not readings or any(r.zeros < r.exceeding for r in readings):
        return None
    worst = next((r.worst for r in readings if r.worst is not None), None)
    if worst is None or worst.got != 0:
        return None
    return f"0 where {worst.oracle:.3g} is right, in every failing element"


RULE = Rule("underflowed", "Zero where the answer is a number that the output can hold.", 62, match)

"""An input handed back as it was."""

from __future__ import annotations

from kernel_contracts.signatures.base import Evidence, Rule


def match(evidence: Evidence) -> str | None:
    failing = [o for o in evidence.failing if any(r.size > 1 for r in o.outputs)]
    same = [o for o in failing if o.readings.get("input_returned")]
    if not same or len(same) < len(failing):
        return None
    return f"the output is an input, bit for bit, in all {len(same)} failing cases with more than one element"


RULE = Rule("input_returned", "An input handed back as it was.", 49, match, always=True)

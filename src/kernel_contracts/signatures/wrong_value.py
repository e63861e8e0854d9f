"""Outside the tolerance, and nothing known explains it."""

from __future__ import annotations

from kernel_contracts.signatures.base import Evidence, Rule


def match(evidence: Evidence) -> str | None:
    o = evidence.witness
    reading = max(o.outputs, key=lambda r: r.ratio, default=None)
    if reading is None:
        return None
    share = f"{reading.exceeding} of {reading.size} elements of {reading.name} outside the bound"
    return f"{share}, the worst by {reading.ratio:.3g} times"


RULE = Rule("wrong_value", "Outside the tolerance, and nothing known explains it.", 99, match, always=True)

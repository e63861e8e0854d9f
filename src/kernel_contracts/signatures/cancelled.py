"""Digits lost to avoidable cancellation."""

from __future__ import annotations

from kernel_contracts.signatures.base import Evidence, Rule

FAMILIES = {"offset", "constant_offset", "cancelling", "range", "extremes", "rising", "falling"}


def match(evidence: Evidence) -> str | None:
    failing = evidence.families(evidence.failing)
    if not failing or not failing <= FAMILIES:
        return None
    breaks = [o.readings["offset"] for o in evidence.failing if "offset" in o.readings]
    where = f", from an offset of {min(breaks):.3g} times the spread" if breaks else ""
    worst = max(o.ratio for o in evidence.failing)
    return f"wrong under {', '.join(sorted(failing))} only, by up to {worst:.3g} times the bound{where}"


RULE = Rule("cancelled", "Digits lost to avoidable cancellation.", 58, match)

"""Digits lost to avoidable cancellation."""

from __future__ import annotations

from kernel_contracts.signatures.base import Evidence, Rule

FAMILIES = {"offset", "constant_offset", "cancelling", "range", "extremes", "rising", "falling"}
#: Failures on other inputs count as beginnings of the same loss when they are this many times smaller.
_BEGINNING = 100.0


def match(evidence: Evidence) -> str | None:
    found = evidence.explained_by("cancelling_form", "naive_variance", "expanded_square")
    if found is not None:
        return found
    ratios: dict[bool, float] = {}
    for o in evidence.failing:
        here = bool(evidence.families((o,)) & FAMILIES)
        ratios[here] = max(ratios.get(here, 0.0), o.ratio)
    if True not in ratios or ratios.get(False, 0.0) * _BEGINNING > ratios[True]:
        return None
    wrong = evidence.families(evidence.failing)
    breaks = [o.readings["offset"] for o in evidence.failing if "offset" in o.readings]
    where = f", from an offset of {min(breaks):.3g} times the spread" if breaks else ""
    names, only = ", ".join(sorted(wrong & FAMILIES)), "only" if wrong <= FAMILIES else "above all"
    return f"wrong under {names} {only}, by up to {ratios[True]:.3g} times the bound{where}"


RULE = Rule("cancelled", "Digits lost to avoidable cancellation.", 46, match)

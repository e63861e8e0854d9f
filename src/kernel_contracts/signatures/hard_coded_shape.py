"""Right at some usual sizes, wrong at others of the same class."""

from __future__ import annotations

from kernel_contracts.signatures.base import Evidence, Rule


def match(evidence: Evidence) -> str | None:
    usual = [
        o
        for o in evidence.observations
        if o.case.shape_family.startswith(("ordinary", "square", "powers")) and not o.skipped
    ]
    others = [o for o in evidence.observations if o not in usual and not o.skipped]
    if not usual or not others or any(o.violating for o in usual):
        return None
    wrong = [o for o in others if o.violating]
    if len(wrong) < 2:
        return None
    sizes = ", ".join(f"{k}={v}" for k, v in evidence.witness.case.dims.items())
    return f"right at all {len(usual)} usual shapes, wrong at {len(wrong)} of {len(others)} others, first at {sizes}"


RULE = Rule("hard_coded_shape", "Right at some usual sizes, wrong at others of the same class.", 60, match)

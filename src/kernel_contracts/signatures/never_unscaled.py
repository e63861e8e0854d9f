"""Gradients never divided by their scale."""

from __future__ import annotations

import math

from kernel_contracts.signatures.base import Evidence, Rule


def match(evidence: Evidence) -> str | None:
    found = evidence.explained_by("never_unscaled")
    if found is not None or evidence.explanation() is not None:
        return found  # another fault that explains the numbers may look like this one in single results
    for o in evidence.failing:
        factor = o.readings.get("factor")
        for name, value in o.case.scalars.items():
            scale = o.readings.get(f"{name} in the call", float(value))
            if factor and scale > 1.5 and math.isclose(factor, scale, rel_tol=0.1):
                return f"results are {scale:g} times what is right, {name} being {scale:g}: it was never divided out"
    return None


RULE = Rule("never_unscaled", "Gradients never divided by their scale.", 38, match)

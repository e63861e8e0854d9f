"""Gradients divided by their scale twice."""

from __future__ import annotations

import math

from kernel_contracts.signatures.base import Evidence, Rule


def match(evidence: Evidence) -> str | None:
    found = evidence.explained_by("unscale_twice")
    if found is not None or evidence.explanation() is not None:
        return found  # another fault that explains the numbers may look like this one in single results
    for o in evidence.failing:
        factor = o.readings.get("factor")
        for name, value in o.case.scalars.items():
            scale = o.readings.get(f"{name} in the call", float(value))
            if factor and scale > 1.5 and math.isclose(factor * scale, 1.0, rel_tol=0.1):
                return f"results are 1/{scale:g} of what is right, {name} being {scale:g}: divided once more"
    return None


RULE = Rule("unscaled_twice", "Gradients divided by their scale twice.", 38, match)

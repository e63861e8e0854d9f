"""A parameter without effect."""

from __future__ import annotations

from kernel_contracts.signatures.base import Evidence, Rule


def match(evidence: Evidence) -> str | None:
    found = evidence.explained_by("ignore_parameter")
    if found is not None:
        return found
    for name in evidence.witness.case.scalars:
        right = {o.case.scalars.get(name) for o in evidence.passing}
        wrong = {o.case.scalars.get(name) for o in evidence.failing}
        if len(right) == 1 and wrong and not right & wrong and len(evidence.failing) > 2:
            return f"right only at {name} = {next(iter(right))}"
    return None


RULE = Rule("parameter_ignored", "A parameter without effect.", 41, match)

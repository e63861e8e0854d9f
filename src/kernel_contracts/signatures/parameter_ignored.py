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
        # One case that passes has one value whatever the reason: it takes two of them to blame the others' values.
        many = len(evidence.failing) > 2 and len(evidence.passing) > 1
        if len(right) == 1 and wrong and not right & wrong and many:
            return f"right only at {name} = {next(iter(right))}"
    return None


RULE = Rule("parameter_ignored", "A parameter without effect.", 41, match)

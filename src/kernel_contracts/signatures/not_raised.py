"""A value where the declared policy is to raise."""

from __future__ import annotations

from kernel_contracts.signatures.base import Evidence, Rule


def match(evidence: Evidence) -> str | None:
    seen = evidence.witness
    return f"{seen.case.family} gives a result" if seen.readings.get("must_raise") else None


RULE = Rule("not_raised", "A value where the declared policy is to raise.", 22, match, always=True)

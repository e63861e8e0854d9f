"""Blocks of an online algorithm combined without bringing them to one scale."""

from __future__ import annotations

from kernel_contracts.signatures.base import Evidence, Rule

MOVING = {"rising", "falling"}
"""Inputs whose running maximum changes from block to block."""


def match(evidence: Evidence) -> str | None:
    failing = evidence.families(evidence.failing)
    measured = evidence.families(evidence.observations)
    if not failing or not failing <= MOVING or not measured - MOVING:
        return None
    return f"wrong only where the running maximum moves ({', '.join(sorted(failing))} inputs)"


RULE = Rule(
    "rescaling_skipped", "Blocks of an online algorithm combined without bringing them to one scale.", 29, match
)

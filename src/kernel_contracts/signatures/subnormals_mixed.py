"""Subnormal numbers kept on one path and flushed on another."""

from __future__ import annotations

from kernel_contracts.signatures.base import Evidence, Rule
from kernel_contracts.signatures.flushing import paths


def match(evidence: Evidence) -> str | None:
    if evidence.witness.defect != "subnormals_mixed":
        return None
    lost = tuple(o for o in evidence.failing if o.defect == "subnormals_mixed")
    return evidence.witness.detail + paths(evidence, lost)


RULE = Rule("subnormals_mixed", "Subnormal numbers kept on one path and flushed on another.", 20, match, always=True)

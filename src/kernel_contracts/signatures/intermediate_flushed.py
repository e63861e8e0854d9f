"""Subnormal numbers between two operations read or written as zero."""

from __future__ import annotations

from kernel_contracts.signatures.base import Evidence, Rule
from kernel_contracts.signatures.flushing import flushed, paths, share


def match(evidence: Evidence) -> str | None:
    lost = flushed(evidence, "intermediate_flushed")
    if not lost:
        return None
    witness = min(lost, key=lambda o: o.case.work)
    return f"{witness.case.family}: {share(witness, 'intermediate_flushed')} are off{paths(evidence, lost)}"


RULE = Rule(
    "intermediate_flushed", "Subnormal numbers between two operations read or written as zero.", 29, match, always=True
)

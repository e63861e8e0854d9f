"""Subnormal inputs read as zero."""

from __future__ import annotations

from kernel_contracts.signatures.base import Evidence, Rule
from kernel_contracts.signatures.flushing import flushed, paths, share, threshold

_KINDS = ("input_flushed", "either_flushed")


def match(evidence: Evidence) -> str | None:
    certain = flushed(evidence, "input_flushed")
    lost = flushed(evidence, *_KINDS)
    if not certain and (not lost or flushed(evidence, "result_flushed")):
        return None
    witness = min(certain or lost, key=lambda o: o.case.work)
    also = " and written as 0" if flushed(evidence, "result_flushed") else "" if certain else " or written as 0"
    return f"|x| < {threshold(evidence)} read{also or ' as 0'} in {share(witness, *_KINDS)}{paths(evidence, lost)}"


RULE = Rule("input_flushed", "Subnormal inputs read as zero.", 27, match, always=True)

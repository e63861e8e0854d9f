"""Subnormal results written as zero."""

from __future__ import annotations

from kernel_contracts.signatures.base import Evidence, Rule
from kernel_contracts.signatures.flushing import explains, flushed, paths, share

_KINDS = ("result_flushed", "either_flushed")


def match(evidence: Evidence) -> str | None:
    return _measured(evidence) or _explained(evidence)


def _explained(evidence: Evidence) -> str | None:
    """Where no case was made for small numbers: every failure is none where flushing is allowed."""
    if not explains(evidence):
        return None
    worst = next((r.worst for r in evidence.witness.outputs if r.worst is not None), None)
    due = f": {worst.got:.3g} where {worst.oracle:.3g} is due" if worst is not None else ""
    return f"right but for numbers below the least normal one{due}"


def _measured(evidence: Evidence) -> str | None:
    if not flushed(evidence, "result_flushed"):
        return None
    lost = flushed(evidence, *_KINDS)
    witness = min(flushed(evidence, "result_flushed"), key=lambda o: o.case.work)
    worst = next((r.worst for r in witness.outputs if r.worst is not None), None)
    due = f": 0 where {worst.oracle:.3g} is due" if worst is not None else ""
    return f"subnormal results written as 0 in {share(witness, *_KINDS)}{due}{paths(evidence, lost)}"


RULE = Rule("result_flushed", "Subnormal results written as zero.", 28, match, always=True)

"""Sums kept in fewer bits than declared."""

from __future__ import annotations

from kernel_contracts.signatures.base import Evidence, Rule, where

#: Probes under which every partial sum fits the declared accumulator, so that any loss is the accumulator's.
PROBES = {"exact", "swamping", "width"}
#: Ordinary data on which a narrow sum shows too. Whatever fails elsewhere as well is more than a narrow sum.
SUMS = {"ones", "positive", "repeated", "cancelling", "near_overflow", "powers"}

#: On ranks, a narrower sum explains the answers when so many of the wrong ones keep to its bound.
MOST = 0.75


def match(evidence: Evidence) -> str | None:
    if not evidence.sums:
        return None
    read = [o.readings["effective_bits"] for o in evidence.observations if "effective_bits" in o.readings]
    bits = int(min(read)) if read else evidence.accumulator_bits
    failing = evidence.families(evidence.failing)
    if bits < evidence.accumulator_bits:
        return f"{bits} bits effective, {evidence.accumulator_bits} declared"
    found = evidence.explained_by("accumulate")
    if found is not None:
        return found
    narrow = [o for o in evidence.failing if "narrow_bits" in o.readings]
    if narrow and len(narrow) >= MOST * len(evidence.failing):
        fewest = min(narrow, key=lambda o: (o.readings["narrow_bits"], o.case.work))
        bits = int(fewest.readings["narrow_bits"])
        return f"{where(fewest)}: what sums of {bits} bits give, {evidence.accumulator_bits} declared"
    if evidence.explanation() is None and evidence.witness.facts.get("freivalds") == "accumulator_narrowed":
        return evidence.witness.detail
    if evidence.explanation() is None and failing & PROBES and failing <= PROBES | SUMS:
        return _exact_sums(evidence)
    return None


def _exact_sums(evidence: Evidence) -> str | None:
    """Where a probe's sums admit one value and come out as another; of a function of sums that tells nothing."""
    probed = (o for o in evidence.failing if o.case.family.partition("(")[0] in PROBES)
    lost = next((o for o in probed if any(r.exact_wrong for r in o.outputs)), None)
    if lost is None:
        return None
    return (
        f"sums that fit {evidence.accumulator_bits} bits exactly come out wrong under {lost.case.family}: "
        f"fewer than {evidence.accumulator_bits} bits effective"
    )


RULE = Rule("accumulator_narrowed", "Sums kept in fewer bits than declared.", 45, match)

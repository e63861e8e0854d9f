"""NaN or infinity where a stable algorithm stays finite."""

from __future__ import annotations

from kernel_contracts.signatures.base import Evidence, Rule


def match(evidence: Evidence) -> str | None:
    bad = [o for o in evidence.failing if any(r.nonfinite for r in o.outputs)]
    if not bad or len(bad) < len(evidence.failing) / 2:
        return None
    reading = next(r for o in bad for r in o.outputs if r.nonfinite)
    families = ", ".join(sorted({o.case.family for o in bad})[:4])
    return (
        f"{reading.nonfinite} of {reading.size} elements NaN or infinite where the answer is finite (under {families})"
    )


RULE = Rule("overflowed", "NaN or infinity where a stable algorithm stays finite.", 30, match, always=True)

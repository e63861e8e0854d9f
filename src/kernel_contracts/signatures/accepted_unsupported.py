"""An answer where the contract promises a refusal."""

from __future__ import annotations

from kernel_contracts.signatures.base import Evidence, Rule


def match(evidence: Evidence) -> str | None:
    refused = evidence.witness.readings.get("must_refuse")
    if not refused:
        return None
    sizes = ", ".join(f"{k}={v}" for k, v in evidence.witness.case.dims.items())
    return f"returned a wrong answer at {sizes}, where it must raise"


RULE = Rule("accepted_unsupported", "An answer where the contract promises a refusal.", 27, match, always=True)

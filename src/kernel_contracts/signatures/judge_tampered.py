"""A clock, a comparison or the judge's own code was replaced in the kernel's process."""

from __future__ import annotations

from kernel_contracts.signatures.base import by_defect

RULE = by_defect(
    "judge_tampered", "A clock, a comparison or the judge's own code was replaced in the kernel's process."
)

"""A step taken although gradients overflowed."""

from __future__ import annotations

from kernel_contracts.signatures.base import by_mutant

RULE = by_mutant(
    "found_inf_ignored", "A step taken although gradients overflowed.", 29, "found_inf_ignored", "overflow_unseen"
)

"""A mask that has no effect."""

from __future__ import annotations

from kernel_contracts.signatures.base import by_mutant

RULE = by_mutant("mask_ignored", "A mask that has no effect.", 40, "no_mask")

"""A scale, or another factor of a whole array, computed in too few bits."""

from __future__ import annotations

from kernel_contracts.signatures.base import by_mutant

RULE = by_mutant(
    "scale_precision_narrowed", "A scale, or another factor of a whole array, computed in too few bits.", 40,
    "factor_narrowed",
)  # fmt: skip

"""Partial sums rounded to a narrower format before they are added."""

from __future__ import annotations

from kernel_contracts.signatures.base import by_mutant

RULE = by_mutant(
    "partial_sums_narrowed", "Partial sums rounded to a narrower format before they are added.", 43, "partial"
)

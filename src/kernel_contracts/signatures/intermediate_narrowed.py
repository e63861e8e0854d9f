"""An intermediate held in a narrower format than the contract keeps it in."""

from __future__ import annotations

from kernel_contracts.signatures.base import by_mutant

RULE = by_mutant(
    "intermediate_narrowed", "An intermediate held in a narrower format than the contract keeps it in.", 50, "narrow"
)

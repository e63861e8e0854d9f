"""A dynamic scale, or its count of good steps, returned as it came."""

from __future__ import annotations

from kernel_contracts.signatures.base import by_mutant

RULE = by_mutant(
    "scale_not_updated", "A dynamic scale, or its count of good steps, returned as it came.", 39, "state_kept"
)

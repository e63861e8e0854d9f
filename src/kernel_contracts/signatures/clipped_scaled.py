"""Gradients clipped by the norm that they have while still scaled."""

from __future__ import annotations

from kernel_contracts.signatures.base import by_mutant

RULE = by_mutant(
    "clipped_scaled", "Gradients clipped by the norm that they have while still scaled.", 39, "clip_before_unscale"
)

"""Gradients too small for the format that they are held in, because the loss was not scaled."""

from __future__ import annotations

from kernel_contracts.signatures.base import by_mutant

RULE = by_mutant(
    "gradient_underflowed", "Gradients too small for the format that holds them, because nothing scaled the loss.", 39,
    "backward_unscaled",
)  # fmt: skip

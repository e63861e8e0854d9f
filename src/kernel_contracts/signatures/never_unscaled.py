"""Gradients never divided by their scale."""

from __future__ import annotations

from kernel_contracts.signatures.base import by_factor

RULE = by_factor(
    "never_unscaled", "Gradients never divided by their scale.", "never_unscaled", lambda scale: scale,
    "results are {scale:g} times what is right, {name} being {scale:g}: it was never divided out",
)  # fmt: skip

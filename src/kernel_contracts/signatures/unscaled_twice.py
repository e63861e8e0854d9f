"""Gradients divided by their scale twice."""

from __future__ import annotations

from kernel_contracts.signatures.base import by_factor

RULE = by_factor(
    "unscaled_twice", "Gradients divided by their scale twice.", "unscale_twice", lambda scale: 1 / scale,
    "results are 1/{scale:g} of what is right, {name} being {scale:g}: divided once more",
)  # fmt: skip

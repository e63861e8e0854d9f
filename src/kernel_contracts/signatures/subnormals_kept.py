"""Subnormal numbers kept where the contract says that they count as zero."""

from __future__ import annotations

from kernel_contracts.signatures.base import by_count

RULE = by_count(
    "subnormals_kept",
    "Subnormal numbers kept where the contract says that they count as zero.",
    30,
    "keep a subnormal number that should count as zero",
    "subnormals_kept",
)

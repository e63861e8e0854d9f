"""Padding taken for data."""

from __future__ import annotations

from kernel_contracts.signatures.base import by_mutant

RULE = by_mutant("padding_leaked", "Padding taken for data.", 41, "pad_zero")

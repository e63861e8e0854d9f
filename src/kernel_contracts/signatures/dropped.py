"""A write outside is left out without a word."""

from __future__ import annotations

from kernel_contracts.signatures.base import by_fact

RULE = by_fact("dropped", "A write outside is left out without a word.", "drop", "is left out without a word")

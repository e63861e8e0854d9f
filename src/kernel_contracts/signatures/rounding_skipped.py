"""A rounding that the contract mandates did not happen."""

from __future__ import annotations

from kernel_contracts.signatures.base import by_mutant

RULE = by_mutant("rounding_skipped", "A rounding that the contract mandates did not happen.", 48, "unrounded")

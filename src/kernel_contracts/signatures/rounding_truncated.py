"""Results truncated where they must be rounded to nearest."""

from __future__ import annotations

from kernel_contracts.signatures.base import by_mutant

RULE = by_mutant("rounding_truncated", "Results truncated where they must be rounded to nearest.", 48, "truncate")

"""All arithmetic in a narrower format than declared."""

from __future__ import annotations

from kernel_contracts.signatures.base import by_mutant

RULE = by_mutant("arithmetic_narrowed", "All arithmetic in a narrower format than declared.", 52, "arithmetic")

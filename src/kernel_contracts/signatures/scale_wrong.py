"""A wrong scale factor."""

from __future__ import annotations

from kernel_contracts.signatures.base import by_mutant

RULE = by_mutant("scale_wrong", "A wrong scale factor.", 40, "drop_sqrt")

"""Operands rounded to a narrower format before they are used."""

from __future__ import annotations

from kernel_contracts.signatures.base import by_mutant

RULE = by_mutant("operand_coerced", "Operands rounded to a narrower format before they are used.", 44, "operands")

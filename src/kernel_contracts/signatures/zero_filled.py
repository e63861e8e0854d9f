"""An index outside gives zeros."""

from __future__ import annotations

from kernel_contracts.signatures.base import by_fact

RULE = by_fact("zero_filled", "An index outside gives zeros.", "zero", "gives zeros")

"""Another function than the one claimed."""

from __future__ import annotations

from kernel_contracts.signatures.base import by_mutant

RULE = by_mutant("function_substituted", "Another function than the one claimed.", 40, "erf_by_tanh", "bessel")

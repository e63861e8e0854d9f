"""A stage or an input left out."""

from __future__ import annotations

from kernel_contracts.signatures.base import by_mutant

RULE = by_mutant("stage_omitted", "A stage or an input left out.", 40, "drop_addend")

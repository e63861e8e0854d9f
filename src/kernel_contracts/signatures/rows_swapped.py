"""Right rows in the wrong places."""

from __future__ import annotations

from kernel_contracts.signatures.base import by_mutant

RULE = by_mutant("rows_swapped", "Right rows in the wrong places.", 40, "flip_rows")

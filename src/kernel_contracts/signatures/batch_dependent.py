"""Other bits for a row when other rows are computed with it."""

from __future__ import annotations

from kernel_contracts.signatures.base import by_defect

RULE = by_defect("batch_dependent", "Other bits for a row when other rows are computed with it.")

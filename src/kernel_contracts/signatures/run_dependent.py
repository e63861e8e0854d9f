"""Other bits when the same call is made again."""

from __future__ import annotations

from kernel_contracts.signatures.base import by_defect

RULE = by_defect("run_dependent", "Other bits when the same call is made again.")

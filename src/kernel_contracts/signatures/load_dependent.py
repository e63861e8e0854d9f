"""Other bits when the machine is busy."""

from __future__ import annotations

from kernel_contracts.signatures.base import by_defect

RULE = by_defect("load_dependent", "Other bits when the machine is busy.")

"""Other bits when the inputs lie elsewhere or otherwise in memory."""

from __future__ import annotations

from kernel_contracts.signatures.base import by_defect

RULE = by_defect("alignment_dependent", "Other bits when the inputs lie elsewhere or otherwise in memory.")

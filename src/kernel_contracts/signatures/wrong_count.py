"""More or fewer outputs than the scope says."""

from __future__ import annotations

from kernel_contracts.signatures.base import by_defect

RULE = by_defect("wrong_count", "More or fewer outputs than the scope says.")

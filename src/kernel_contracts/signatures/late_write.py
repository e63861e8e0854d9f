"""The answer changes after the kernel has returned it."""

from __future__ import annotations

from kernel_contracts.signatures.base import by_defect

RULE = by_defect("late_write", "The answer changes after the kernel has returned it.")

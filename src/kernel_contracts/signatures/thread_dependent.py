"""Other bits with another number of threads."""

from __future__ import annotations

from kernel_contracts.signatures.base import by_defect

RULE = by_defect("thread_dependent", "Other bits with another number of threads.")

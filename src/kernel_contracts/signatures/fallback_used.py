"""A function that the check forbids did the work."""

from __future__ import annotations

from kernel_contracts.signatures.base import by_defect

RULE = by_defect("fallback_used", "A function that the check forbids was called.")

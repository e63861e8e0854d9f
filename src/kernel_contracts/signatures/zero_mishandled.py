"""Right until one element of the inputs is zero."""

from __future__ import annotations

from kernel_contracts.signatures.base import by_defect

RULE = by_defect("zero_mishandled", "Right until one element of the inputs is zero.")

"""Something that is not an array, or not a tuple of arrays."""

from __future__ import annotations

from kernel_contracts.signatures.base import by_defect

RULE = by_defect("wrong_type", "Something that is not an array, or not a tuple of arrays.")

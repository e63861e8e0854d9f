"""Elements that hold the answer to an earlier call, or have it added to them."""

from __future__ import annotations

from kernel_contracts.signatures.base import by_defect

RULE = by_defect("stale_output", "Elements that hold the answer to an earlier call, or have it added to them.")

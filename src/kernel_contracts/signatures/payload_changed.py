"""A move that changed the bits of a NaN."""

from __future__ import annotations

from kernel_contracts.signatures.base import by_count

RULE = by_count(
    "payload_changed", "A move changed the bits of a NaN.", 28, "NaN with other bits than came in", "payload_changed"
)

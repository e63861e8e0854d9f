"""A finite number where an infinity is due."""

from __future__ import annotations

from kernel_contracts.signatures.base import by_count

RULE = by_count(
    "inf_lost", "A finite number where an infinity is due.", 27, "finite where an infinity is due", "inf_lost"
)

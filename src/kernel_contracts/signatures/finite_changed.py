"""A special value changed numbers that do not depend on it."""

from __future__ import annotations

from kernel_contracts.signatures.base import by_count

RULE = by_count(
    "finite_changed",
    "A special value changed numbers that do not depend on it.",
    29,
    "other than without the special value",
    "finite_changed",
)

"""A bad index changed what belongs to good ones, or to none."""

from __future__ import annotations

from kernel_contracts.signatures.base import by_count

RULE = by_count(
    "neighbour_changed",
    "A bad index changed what belongs to good ones.",
    23,
    "changed that no bad index names",
    "spilled",
)

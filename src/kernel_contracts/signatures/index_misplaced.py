"""An index that is not the one of the element that is due."""

from __future__ import annotations

from kernel_contracts.signatures.base import by_count

RULE = by_count(
    "index_misplaced", "An index of another element, or of none.", 28, "are indices of another element", "index_wrong"
)

"""An infinity of the wrong sign."""

from __future__ import annotations

from kernel_contracts.signatures.base import by_count

RULE = by_count(
    "inf_sign_wrong", "An infinity of the wrong sign.", 27, "infinite with the wrong sign", "inf_sign_wrong"
)

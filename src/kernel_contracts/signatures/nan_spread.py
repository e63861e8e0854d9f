"""NaN or an infinity where a number is due."""

from __future__ import annotations

from kernel_contracts.signatures.base import by_count

RULE = by_count(
    "nan_spread",
    "NaN or an infinity where a number is due.",
    27,
    "NaN or infinite where a number is due",
    "nan_spread",
    "inf_spread",
)

"""An infinity where NaN is due."""

from __future__ import annotations

from kernel_contracts.signatures.base import by_count

RULE = by_count("inf_for_nan", "An infinity where NaN is due.", 27, "infinite where NaN is due", "inf_for_nan")

"""The call that tunes gives another answer than the same call without tuning."""

from __future__ import annotations

from kernel_contracts.signatures.base import by_defect

RULE = by_defect("tuning_leaves_trace", "The call that tunes gives another answer than the same call without tuning.")

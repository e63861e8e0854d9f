"""The kernel left a floating-point switch of its caller's thread other than it was."""

from __future__ import annotations

from kernel_contracts.signatures.base import by_defect

RULE = by_defect("caller_state_changed", "A floating-point switch of the calling thread is left other than it was.")

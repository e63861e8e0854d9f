"""The same call gives another answer once the first one has been made."""

from __future__ import annotations

from kernel_contracts.signatures.base import by_defect

RULE = by_defect("first_call_differs", "The same call gives another answer once the first one has been made.")

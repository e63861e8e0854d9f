"""Other bits at another scale, away from the ends of the range."""

from __future__ import annotations

from kernel_contracts.signatures.base import by_defect

RULE = by_defect("scale_dependent", "Other bits at another scale, away from the ends of the range.")

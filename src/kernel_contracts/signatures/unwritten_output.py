"""Elements that nobody wrote: they hold what the memory held before."""

from __future__ import annotations

from kernel_contracts.signatures.base import by_defect

RULE = by_defect("unwritten_output", "Elements that nobody wrote: they hold what the memory held before.")

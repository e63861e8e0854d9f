"""A wrong answer that depends on what the process or its caches met before."""

from __future__ import annotations

from kernel_contracts.signatures.base import by_defect

RULE = by_defect("cache_dependent", "A wrong answer that depends on what the process or its caches met before.")

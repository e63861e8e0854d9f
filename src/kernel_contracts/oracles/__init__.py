"""Sources of truth, from cheap to certain. Each knows how large its own error can be, and what it can afford."""

from __future__ import annotations

import importlib
import pkgutil
from functools import cache

from kernel_contracts.measurement.oracle import Oracle


@cache
def ladder() -> tuple[Oracle, ...]:
    """Every oracle that works here, cheapest first."""
    found: list[Oracle] = []
    for module in pkgutil.iter_modules(__path__):
        entry = getattr(importlib.import_module(f"{__name__}.{module.name}"), "ORACLE", None)
        if entry is not None and entry.available():
            found.append(entry)
    return tuple(sorted(found, key=lambda o: o.rank))

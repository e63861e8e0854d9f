"""Faults that no change of a program expresses, found by listing this package: one a module with one `FAULT`."""

from __future__ import annotations

import importlib
import pkgutil
from functools import cache

from kernel_contracts.measurement.faults.base import Fault, Faulty


@cache
def faults() -> dict[str, Fault]:
    """Every fault by name."""
    found: dict[str, Fault] = {}
    for module in sorted(m.name for m in pkgutil.iter_modules(__path__)):
        entry = getattr(importlib.import_module(f"{__name__}.{module}"), "FAULT", None)
        for fault in entry if isinstance(entry, tuple) else (entry,) if entry is not None else ():
            found[fault.name] = fault
    return found


__all__ = ["Fault", "Faulty", "faults"]

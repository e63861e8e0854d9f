"""Kinds of measurement, found by listing this package: one experiment a module with one `EXPERIMENT`."""

from __future__ import annotations

import importlib
import pkgutil
from functools import cache

from kernel_contracts.measurement.experiments.base import Experiment, Measured


@cache
def experiments() -> dict[str, Experiment]:
    """Every experiment by name."""
    found: dict[str, Experiment] = {}
    for module in sorted(m.name for m in pkgutil.iter_modules(__path__)):
        entry = getattr(importlib.import_module(f"{__name__}.{module}"), "EXPERIMENT", None)
        if entry is not None:
            found[entry.name] = entry
    return found


__all__ = ["Experiment", "Measured", "experiments"]

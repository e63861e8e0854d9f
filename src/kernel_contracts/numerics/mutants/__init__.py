"""Wrong kernels made from right programs, found by listing this package: one kind of fault a module."""

from __future__ import annotations

import importlib
import pkgutil
from functools import cache

from kernel_contracts.numerics.mutants.base import Mutant


@cache
def mutants() -> dict[str, Mutant]:
    """Every mutant by name."""
    found: dict[str, Mutant] = {}
    for module in pkgutil.iter_modules(__path__):
        for entry in getattr(importlib.import_module(f"{__name__}.{module.name}"), "MUTANTS", ()):
            found[entry.name] = entry
    return dict(sorted(found.items()))


__all__ = ["Mutant", "mutants"]

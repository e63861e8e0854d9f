"""The contract classes, found by listing this package: one class a module."""

from __future__ import annotations

import importlib
import pkgutil
from functools import cache

from kernel_contracts.classes.base import ContractClass, Plan


@cache
def classes() -> dict[str, ContractClass]:
    """Every class by its id, in the order of the paper."""
    order = {"PRC": 0, "ORD": 1, "CMP": 2, "EXC": 3}
    found: list[ContractClass] = []
    for module in pkgutil.iter_modules(__path__):
        entry = getattr(importlib.import_module(f"{__name__}.{module.name}"), "CLASS", None)
        if entry is not None:
            found.append(entry)
    return {c.id: c for c in sorted(found, key=lambda c: (order.get(c.id[2:5], 9), c.id))}


__all__ = ["ContractClass", "Plan", "classes"]

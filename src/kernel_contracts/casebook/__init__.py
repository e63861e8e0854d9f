"""Kernels whose verdict is known beforehand: faults in `cases`, controls in `controls`, cheats in `cheats`."""

from __future__ import annotations

import importlib
import pkgutil
from functools import cache
from types import ModuleType

from kernel_contracts.casebook.base import Cheat, Control, FaultCase


@cache
def modules(folder: str = "cases") -> tuple[ModuleType, ...]:
    """Every page of a folder, in order of name."""
    package = importlib.import_module(f"{__name__}.{folder}")
    names = sorted(m.name for m in pkgutil.iter_modules(package.__path__))
    return tuple(importlib.import_module(f"{package.__name__}.{name}") for name in names)


@cache
def fault_cases() -> dict[str, FaultCase]:
    """Every fault by its id."""
    found = [m.CASE for m in modules() if hasattr(m, "CASE")]
    return {c.id: c for c in sorted(found, key=lambda c: c.id)}


@cache
def control_kernels() -> dict[str, Control]:
    """Every control by name."""
    found: dict[str, Control] = {}
    for module in (*modules("controls"), *modules()):
        for control in getattr(module, "CONTROLS", ()):
            if control.name in found:
                raise ValueError(f"there are two controls {control.name}: name one of them otherwise")
            found[control.name] = control
    return found


@cache
def cheat_kernels() -> tuple[Cheat, ...]:
    """Every kernel that cheats on purpose, by number."""
    found = [c for module in modules("cheats") for c in module.CHEATS]
    return tuple(sorted(found, key=lambda c: (c.number, c.name)))


__all__ = ["Cheat", "Control", "FaultCase", "cheat_kernels", "control_kernels", "fault_cases", "modules"]

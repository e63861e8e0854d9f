"""The tensor operators of reference programs, found by listing this package: one family a module.

An operator brings its type rule and its interpretations; `register` lets a user add one (a plug-in module named in
the entry-point group `kernel_contracts.operators` is loaded the same way).
"""

from __future__ import annotations

import importlib
import pkgutil
from functools import cache
from importlib.metadata import entry_points

from kernel_contracts.errors import ArithmeticScopeError
from kernel_contracts.numerics.operators.base import Operator

_REGISTRY: dict[str, Operator] = {}


def register(entry: Operator) -> Operator:
    """Makes an operator known to the language. Raises ValueError when the name is taken."""
    if entry.name in _REGISTRY and _REGISTRY[entry.name] is not entry:
        raise ValueError(f"the operator {entry.name!r} exists already; choose another name")
    _REGISTRY[entry.name] = entry
    return entry


@cache
def _discover() -> None:
    for module in pkgutil.iter_modules(__path__):
        for entry in getattr(importlib.import_module(f"{__name__}.{module.name}"), "OPERATORS", ()):
            register(entry)
    for point in entry_points(group="kernel_contracts.operators"):
        for entry in point.load():
            register(entry)


def operators() -> dict[str, Operator]:
    """Every operator by name."""
    _discover()
    return dict(_REGISTRY)


def operator(name: str) -> Operator:
    _discover()
    if name not in _REGISTRY:
        raise ArithmeticScopeError(f"there is no operator {name!r}")
    return _REGISTRY[name]


def adds_up(name: str) -> bool:
    """Whether nodes of this name sum many terms (inputs and constants do not)."""
    return name in operators() and _REGISTRY[name].sums


__all__ = ["Operator", "adds_up", "operator", "operators", "register"]

"""Kernel Contracts: say what an ML kernel computes, measure whether it does, get a verdict with a reason.

The names below are the public door; everything behind them may move. Importing the package loads no array library:
each name is fetched when it is first used.
"""

from __future__ import annotations

import importlib
from typing import Any

_HOME = {
    "check": "api",
    "check_product": "numerics.freivalds.product",
    "guard": "guarding.watch",
    "assert_conforms": "assertions",
    "tolerance": "tolerances",
    "ConformanceError": "assertions",
    "InconclusiveError": "assertions",
    "KernelContractsError": "errors",
    "LanguageError": "errors",
    "TargetError": "errors",
    "UsageError": "errors",
    "Verdict": "contracts.evidence",
}

__all__ = sorted(_HOME)


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(importlib.import_module(f"{__name__}.{_HOME[name]}"), name)
    if isinstance(value, type) or callable(value):
        value.__module__ = __name__
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return __all__

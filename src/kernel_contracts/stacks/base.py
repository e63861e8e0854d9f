"""Every stack by name, and the one they all fulfil.

Requirement: a stack file that does not define `STACK` is an error of ours and says so; nothing is skipped in silence.
"""

from __future__ import annotations

import functools
import importlib
import importlib.util
import pkgutil
from pathlib import Path

from kernel_contracts.errors import UsageError
from kernel_contracts.measurement.adapter import Stack

__all__ = ["Stack", "find", "installed", "stacks"]

_PACKAGE = __name__.rpartition(".")[0]
_OWN = ("base", "natives", "__main__")


@functools.cache
def stacks() -> dict[str, Stack]:
    """Every stack this package knows, installed or not, by name."""
    names = sorted(m.name for m in pkgutil.iter_modules([str(Path(__file__).parent)]) if m.name not in _OWN)
    found: dict[str, Stack] = {}
    for name in names:
        stack = getattr(importlib.import_module(f"{_PACKAGE}.{name}"), "STACK", None)
        if not isinstance(stack, Stack):
            raise TypeError(f"{_PACKAGE}.{name} defines no STACK with the methods of base.Stack")
        found[stack.name] = stack
    return found


def find(name: str) -> Stack:
    """The stack called `name`, installed; UsageError says what there is or how to install it."""
    known = stacks()
    if name not in known:
        raise UsageError(f"there is no stack {name!r}; choose one of {', '.join(known)}")
    if not known[name].available():
        raise UsageError(f"stack {name!r} is not installed: {known[name].install_hint()}")
    return known[name]


def installed(module: str) -> bool:
    """Whether a library can be imported, without importing it."""
    try:
        return importlib.util.find_spec(module) is not None
    except (ImportError, ValueError):
        return False

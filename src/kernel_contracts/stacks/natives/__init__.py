"""Each stack's own way to do the operations of the standard library: what `builtin:softmax` measures.

Requirement: one folder a stack, one module a family of operations, one public function an operation, named like it;
arrays come in the order of the scope and parameters by name. Importing a module here imports no framework.
"""

from __future__ import annotations

import importlib
import importlib.util
from collections.abc import Iterator
from pkgutil import iter_modules
from typing import Any

__all__ = ["natives"]


def natives(stack: str) -> dict[str, str]:
    """For each operation that `stack` has, the target that names its function; empty for a stack without a folder."""
    package = f"{__name__}.{stack}"
    if not stack.isidentifier() or importlib.util.find_spec(package) is None:
        return {}
    return dict(sorted(_functions(package)))


def _functions(package: str) -> Iterator[tuple[str, str]]:
    for info in iter_modules(importlib.import_module(package).__path__):
        if info.name.startswith("_"):
            continue
        name = f"{package}.{info.name}"
        members: dict[str, Any] = vars(importlib.import_module(name))
        own = (n for n, f in members.items() if not n.startswith("_") and getattr(f, "__module__", "") == name)
        yield from ((n, f"{name}:{n}") for n in own)

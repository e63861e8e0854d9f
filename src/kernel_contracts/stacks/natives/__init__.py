"""Each stack's own way to do the operations of the standard library: what `builtin:softmax` measures.

Requirement: one folder a stack, one module a family of operations, one public function an operation, named like it;
arrays come in the order of the scope and parameters by name. Importing a module here imports no framework. Where the
stack runs kernel files, a file named like an operation is one too.
"""

from __future__ import annotations

import importlib
from collections.abc import Iterator
from pathlib import Path
from pkgutil import iter_modules
from typing import Any

from kernel_contracts.stacks.base import VARIANT, Stack, stacks

__all__ = ["natives"]


def natives(stack: str) -> dict[str, str]:
    """For each operation that `stack` or `stack@variant` has, the target that names it; empty for an unknown stack."""
    found = stacks().get(stack.partition(VARIANT)[0])
    if found is None or not found.natives:
        return {}
    folder = Path(__file__).parent / found.natives
    named = {**dict(_functions(found, folder)), **dict(_files(found, folder))}
    return {n: named[n] for n in sorted(named) if n not in found.lacks}


def _functions(stack: Stack, folder: Path) -> Iterator[tuple[str, str]]:
    for info in iter_modules([str(folder)]):
        if info.name.startswith("_") or info.name in stack.lacks:
            continue
        name = f"{__name__}.{stack.natives}.{info.name}"
        members: dict[str, Any] = vars(importlib.import_module(name))
        own = (n for n, f in members.items() if not n.startswith("_") and getattr(f, "__module__", "") == name)
        yield from ((n, f"{name}:{n}") for n in own)


def _files(stack: Stack, folder: Path) -> Iterator[tuple[str, str]]:
    """Kernel files, one an operation: `softmax.cl` with the entry `softmax`."""
    for path in sorted(folder.glob("*")):
        if path.suffix in stack.files:
            yield path.stem, f"{path}:{path.stem}" if ":" in stack.files[path.suffix] else str(path)

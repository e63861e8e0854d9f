"""Each stack's own way to do the operations of the standard library: what `builtin:softmax` measures.

Requirement: one module a stack, one public function an operation, named like it; arrays come in the order of the scope
and parameters by name. Importing a module here imports no framework.
"""

from __future__ import annotations

import importlib
import importlib.util

__all__ = ["natives"]


def natives(stack: str) -> dict[str, str]:
    """For each operation that `stack` has, the target that names its function; empty for a stack without a module."""
    name = f"{__name__}.{stack}"
    if not stack.isidentifier() or importlib.util.find_spec(name) is None:
        return {}
    members = vars(importlib.import_module(name))
    own = [n for n, f in members.items() if not n.startswith("_") and getattr(f, "__module__", "") == name]
    return {n: f"{name}:{n}" for n in sorted(own)}

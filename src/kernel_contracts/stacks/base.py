"""Every stack by name with its variants, and what most of them have in common.

Requirement: a stack file that does not define `STACK` is an error of ours and says so; nothing is skipped in silence.
"""

from __future__ import annotations

import copy
import functools
import importlib
import importlib.util
import pkgutil
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from kernel_contracts.errors import TargetError, UsageError
from kernel_contracts.measurement.adapter import KernelFile, Stack

__all__ = ["Plain", "Stack", "find", "installed", "stacks"]

_PACKAGE = __name__.rpartition(".")[0]
_OWN = ("base", "conformance", "natives", "__main__")

VARIANT = "@"
"""Between a stack and its variant: `torch@one-thread`."""


class Plain:
    """A stack of Python functions without variants: what an adapter inherits and overrides where it has more."""

    name: str
    requires: tuple[str, str]
    variants: Mapping[str, Mapping[str, str]] = {}
    environment: Mapping[str, str] = {}
    files: Mapping[str, str] = {}
    natives: str = ""
    lacks: frozenset[str] = frozenset()
    compiling: float = 0.0

    def available(self) -> bool:
        return installed(self.requires[0])

    def preload(self) -> None:
        importlib.import_module(self.requires[0])

    def compiles_apart(self, device: str) -> bool:
        return False

    def synchronize(self, device: str) -> None:
        """Most libraries for processors return when they are done."""

    def tidy(self) -> bool:
        return False

    def install_hint(self) -> str:
        return f"run: pip install 'kernel-contracts[{self.requires[1]}]'"

    def compiled(self, function: Callable[..., Any]) -> Callable[..., Any]:
        return function

    def open(self, file: str, entry: str, device: str) -> KernelFile:
        raise TargetError(f"stack {self.name} runs Python functions, not {file}; see kc list stacks")


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
    """The stack called `name`, or `stack@variant`, installed; UsageError says what there is or how to install it."""
    known = stacks()
    plain, at, variant = name.partition(VARIANT)
    if plain not in known:
        raise UsageError(f"there is no stack {plain!r}; choose one of {', '.join(known)}")
    stack = _varied(known[plain], variant) if at else known[plain]
    if not stack.available():  # a variant may do without what another needs
        raise UsageError(f"stack {plain!r} is not installed: {stack.install_hint()}")
    return stack


def _varied(stack: Stack, variant: str) -> Stack:
    """The same stack under the settings of one of its variants."""
    if variant not in stack.variants:
        has = f"it has {', '.join(stack.variants)}" if stack.variants else "it has none"
        raise UsageError(f"stack {stack.name} has no variant {variant!r}; {has}")
    varied = copy.copy(stack)
    varied.name = f"{stack.name}{VARIANT}{variant}"
    varied.environment = {**stack.environment, **stack.variants[variant]}
    return varied


def installed(module: str) -> bool:
    """Whether a library can be imported, without importing it."""
    try:
        return importlib.util.find_spec(module) is not None
    except (ImportError, ValueError):
        return False

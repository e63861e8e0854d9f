"""Kernels that are no Python functions, in the worker: opened by the stack, launched once for each scope.

Requirement: a file that cannot be opened or that does not serve a scope is a TargetError with a sentence. Whatever
else goes wrong while it is launched is the kernel's own failure, and comes out when it is called.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NoReturn

from kernel_contracts.errors import TargetError
from kernel_contracts.measurement.adapter import Stack
from kernel_contracts.measurement.calls import Scope
from kernel_contracts.measurement.target import Resolved, Target

KEPT = 64
"""Launched scopes that are kept; shapes come in many sizes, and each may hold compiled code."""


def check_claimed(target: Target, stack: Stack) -> None:
    """Raises TargetError where the stack does not run such a file, or where the file it would run is not there."""
    if target.foreign and Path(target.file).suffix not in stack.files:
        runs = " and ".join(["Python functions", *(f"{s} files" for s in stack.files)])
        raise TargetError(
            f"target {target.text!r}: stack {stack.name} runs {runs}, no {Path(target.file).suffix} files; "
            f"see kc list stacks for one that does"
        )
    named = target.text.rpartition(":")[0]
    if not target.foreign and not target.file and Path(named).suffix in stack.files:
        raise TargetError(f"target {target.text!r}: there is no file {named}; check the path")


class Opened:
    """A kernel file at hand."""

    def __init__(self, stack: Stack, target: Target, device: str) -> None:
        self._target = target
        self._kernel = stack.open(target.file, target.attribute, device)
        self.formats = self._kernel.formats
        self._launched: dict[Scope, Callable[..., Any]] = {}

    def resolved(self) -> Resolved:
        """It stands where a Python function would; every scalar is passed to it by name."""
        name = self._target.attribute or Path(self._target.file).stem
        return Resolved(_unlaunched, name, self._target.file, (), (), True)

    def launch(self, scope: Mapping[str, Any]) -> Callable[..., Any]:
        """The function for one scope, given as JSON."""
        key = Scope.from_json(scope)
        if key not in self._launched:
            while len(self._launched) >= KEPT:
                del self._launched[next(iter(self._launched))]
            try:
                self._launched[key] = self._kernel.launch(key)
            except TargetError:
                raise
            except Exception as error:
                return _failing(error)
        return self._launched[key]


def _unlaunched(*_: Any, **__: Any) -> NoReturn:
    raise TargetError("a kernel file is called through its scope")


def _failing(error: Exception) -> Callable[..., Any]:
    """What could not be launched, called."""

    def fail(*_: Any, **__: Any) -> NoReturn:
        raise error

    return fail

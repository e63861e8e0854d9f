"""Functions that a kernel may not call: each raises while the kernel runs, and the call is kept on record.

Requirement: put in place before the kernel is imported, so that a name it takes then is the guarded one. What is
reached without a name, such as the operator `@` of an array, is not seen.
"""

from __future__ import annotations

import functools
import importlib
import os
from collections.abc import Callable, Sequence
from contextlib import contextmanager
from typing import Any

from kernel_contracts.errors import UsageError

FORBIDDEN = "KERNEL_CONTRACTS_FORBIDDEN"
"""Environment variable of the worker: dotted names, separated by commas."""


class ForbiddenCall(BaseException):
    """No Exception, so that a fallback inside `except Exception` does not swallow it."""


class Forbidden:
    """The guards of one worker."""

    def __init__(self, names: Sequence[str]) -> None:
        self.called: list[str] = []
        self._running = False
        for name in names:
            owner, attribute = _owner(name)
            setattr(owner, attribute, self._guard(name, getattr(owner, attribute)))

    @staticmethod
    def from_environment() -> Forbidden:
        """The guards that the session asked for. Raises UsageError where there is no such function."""
        return Forbidden([n for n in os.environ.pop(FORBIDDEN, "").split(",") if n])

    @contextmanager
    def running(self) -> Any:
        """While the kernel runs."""
        self.called.clear()
        self._running = True
        try:
            yield
        finally:
            self._running = False

    def _guard(self, name: str, function: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(function, updated=())
        def guarded(*args: Any, **kwargs: Any) -> Any:
            if self._running:
                self.called.append(name)
                raise ForbiddenCall(f"{name} is forbidden here")
            return function(*args, **kwargs)

        return guarded


def _owner(name: str) -> tuple[Any, str]:
    """What holds the function: a module, or a class in one."""
    parts = name.split(".")
    for count in range(len(parts) - 1, 0, -1):
        try:
            owner: Any = importlib.import_module(".".join(parts[:count]))
        except ImportError:
            continue
        for part in parts[count:-1]:
            owner = getattr(owner, part, None)
        if callable(getattr(owner, parts[-1], None)):
            return owner, parts[-1]
    raise UsageError(f"--forbid {name}: there is no such function here; give its full name, such as numpy.matmul")

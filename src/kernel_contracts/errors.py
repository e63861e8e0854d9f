"""Every error the package raises on purpose.

    KernelContractsError
      UsageError            a flag, path or argument that cannot be used          exit 2
        TargetError         the kernel under test cannot be found or loaded        exit 2
      LanguageError         a contract file is wrong; carries its diagnostics      exit 2
      ArithmeticScopeError  an input, shape or format outside what is defined      exit 2

A kernel that crashes, hangs or lies never raises here: that is evidence about the kernel.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any


class KernelContractsError(Exception):
    """Base of all errors raised on purpose; its text is one clear sentence with place, cause and next step."""


class UsageError(KernelContractsError):
    """A flag, path or argument that cannot be used."""


class TargetError(UsageError):
    """The kernel under test cannot be found or loaded."""


class LanguageError(KernelContractsError):
    """A contract text is wrong. `diagnostics` holds every finding, each with code, place and next step."""

    def __init__(self, diagnostics: Sequence[Any]) -> None:
        self.diagnostics = tuple(diagnostics)
        super().__init__("\n".join(str(d) for d in self.diagnostics))


class ArithmeticScopeError(KernelContractsError):
    """An input, a shape or a number format lies outside what the operation defines."""

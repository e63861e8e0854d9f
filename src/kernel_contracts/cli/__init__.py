"""The command line, `kc`. Each command is a module; what it needs is imported when it runs."""

from __future__ import annotations

from kernel_contracts.cli.app import main

__all__ = ["main"]

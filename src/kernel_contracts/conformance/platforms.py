"""What a run measures on: stacks with their own kernels, and kernels of the user's own beside them."""

from __future__ import annotations

import ast
import re
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from kernel_contracts.errors import TargetError, UsageError
from kernel_contracts.language.diagnostics import did_you_mean
from kernel_contracts.measurement.target import parse, sha256
from kernel_contracts.stacks.base import find, stacks
from kernel_contracts.stacks.natives import natives

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._+@-]*")


@dataclass(frozen=True, slots=True)
class Platform:
    """One column of a run."""

    name: str
    """What the user calls it; also a folder of the run."""
    stack: str
    """With its variant: `torch@one-thread`."""
    target: str = ""
    """A kernel, or a file whose functions are named like operations; empty for the stack's own kernels."""
    sha256: str = ""
    """Of the target's file."""
    missing: str = ""
    """Why nothing can be measured on it here."""
    device: str = ""

    def as_json(self) -> dict[str, str]:
        return asdict(self)

    def kernel(self, operation: str) -> str | None:
        """The target of an operation on this platform; None where it has none."""
        if not self.target:
            return natives(self.stack).get(operation)
        if self.target.endswith(".py"):
            return f"{self.target}:{operation}" if operation in _functions(self.target) else None
        return self.target

    def native(self) -> frozenset[str]:
        """Formats measured when the user names none."""
        return find(self.stack).native_dtypes


def platforms(names: Sequence[str], kernels: Sequence[str], device: str = "") -> tuple[Platform, ...]:
    """From `numpy`, `torch@one-thread`, `torch:cuda`, `mine=k.py:softmax@torch`. Raises UsageError in one sentence."""
    made = [_stack(name, device) for name in names] + [_kernel(text, device) for text in kernels]
    seen: set[str] = set()
    for one in made:
        if one.name in seen:
            raise UsageError(f"platform {one.name} is named twice; give each kernel a name of its own")
        seen.add(one.name)
    if not made:
        raise UsageError("there is no platform to measure on: name stacks with --stacks or kernels with --kernel")
    return tuple(made)


def _stack(text: str, device: str) -> Platform:
    """`torch`, `torch@one-thread` or, with a device of its own, `torch:cuda`, whose results are called torch-cuda."""
    stack, _, own = text.partition(":")
    return Platform(text.replace(":", "-"), stack, missing=_missing(stack), device=own or device)


def _missing(stack: str) -> str:
    """Why a stack cannot be used here; UsageError where there is no such stack or variant at all."""
    base = stack.partition("@")[0]
    known = stacks()
    if base not in known:
        raise UsageError(f"there is no stack {stack}; {did_you_mean(base, known) or 'see kc list stacks'}")
    if not known[base].available():
        return f"stack {stack} is not installed: {known[base].install_hint()}"
    find(stack)
    return ""


def _kernel(text: str, device: str) -> Platform:
    name, equals, rest = text.partition("=")
    target, _, stack = rest.partition("@")
    if not equals or not target or not _NAME.fullmatch(name):
        raise UsageError(f"--kernel {text} is not of the form NAME=TARGET or NAME=TARGET@STACK, as mine=k.py:softmax")
    if name in stacks():
        raise UsageError(f"--kernel {text}: {name} is the name of a stack; choose another one")
    if target.endswith(".py"):
        path = Path(target)
        if not path.is_file():
            raise TargetError(f"--kernel {text}: there is no file {target}; check the path")
        file = str(path.resolve())
        return Platform(name, stack or "numpy", file, sha256(file), _missing(stack or "numpy"), device)
    found = parse(target)
    full = ":".join(filter(None, (found.file, found.attribute))) if found.file else target
    return Platform(name, stack or "numpy", full, sha256(found.file), _missing(stack or "numpy"), device)


def _functions(file: str) -> frozenset[str]:
    """Functions at the top of a file, from its syntax tree alone."""
    try:
        tree: Any = ast.parse(Path(file).read_bytes())
    except (OSError, SyntaxError, ValueError) as error:
        raise TargetError(f"{file} cannot be read as Python: {error}; correct it") from error
    return frozenset(n.name for n in tree.body if isinstance(n, ast.FunctionDef))

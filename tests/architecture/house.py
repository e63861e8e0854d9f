"""The package as syntax trees: what the tests of the architecture look at. Nothing is imported to find out."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

REPOSITORY = Path(__file__).parents[2]
PACKAGE = REPOSITORY / "src" / "kernel_contracts"
NAME = PACKAGE.name

TIERS = {
    "errors": 0,
    "formats": 0,
    "heap": 0,
    "version": 0,
    "language": 1,
    "numerics": 1,
    "contracts": 2,
    "classes": 3,
    "signatures": 3,
    "measurement": 4,
    "stacks": 5,
    "oracles": 5,
    "report": 5,
    "answers": 6,
    "casebook": 6,
    "conformance": 6,
    "guarding": 6,
    "cli": 7,
    "pytest_plugin": 7,
    "__main__": 7,
}
"""Parts of the package and their tiers. Every folder is named; a file at the top that is not is of tier 6."""
TOP = 6


@dataclass(frozen=True, slots=True)
class Module:
    """One source file."""

    path: Path
    """Below the package folder."""
    text: str
    tree: ast.Module

    @property
    def part(self) -> str:
        """The first name below the package: what has a tier."""
        return self.path.parts[0].removesuffix(".py")

    @property
    def dotted(self) -> str:
        parts = [p for p in self.path.with_suffix("").parts if p != "__init__"]
        return ".".join([NAME, *parts])

    def __str__(self) -> str:
        return self.path.as_posix()


def read(path: Path, text: str) -> Module:
    return Module(path, text, ast.parse(text))


@cache
def modules() -> tuple[Module, ...]:
    """Every module of the package, the root included."""
    return tuple(read(p.relative_to(PACKAGE), p.read_text("utf-8")) for p in sorted(PACKAGE.rglob("*.py")))


def imports(module: Module) -> Iterator[tuple[int, str]]:
    """Line and dotted name of everything imported, at the top, in functions or for types alone."""
    for node in ast.walk(module.tree):
        if isinstance(node, ast.Import):
            yield from ((node.lineno, alias.name) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            source = "." * node.level + (node.module or "")
            if source == NAME:  # `from kernel_contracts import x`: of the root, unless x is a module
                yield from (
                    (node.lineno, f"{NAME}.{alias.name}" if _is_module(alias.name) else NAME) for alias in node.names
                )
            else:
                yield node.lineno, source


def _is_module(name: str) -> bool:
    return (PACKAGE / name).is_dir() or (PACKAGE / f"{name}.py").is_file()


def tier(part: str) -> int:
    return TIERS.get(part, TOP)


def top_level(module: Module) -> Iterator[tuple[int, str]]:
    """What is imported when the module is: everything outside functions and outside `if TYPE_CHECKING`."""
    kept = ast.Module([s for s in module.tree.body if not _deferred(s)], [])
    yield from imports(Module(module.path, module.text, kept))


def _deferred(statement: ast.stmt) -> bool:
    if isinstance(statement, ast.If):
        return "TYPE_CHECKING" in ast.unparse(statement.test)
    return isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef)


def growth(found: dict[str, int], allowed: dict[str, int], what: str) -> list[str]:
    """Sentences for whatever is more than a list of exceptions allows, and for what it allows in vain."""
    more = [f"{k}: {what} {n}, allowed {allowed.get(k, 0)}" for k, n in found.items() if n > allowed.get(k, 0)]
    less = [
        f"{k}: {what} {found.get(k, 0)}; take the list down from {n}" for k, n in allowed.items() if found.get(k, 0) < n
    ]
    return more + less

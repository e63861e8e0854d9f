"""Finds and loads contract files: the standard library that comes with the package, and files of the user's own."""

from __future__ import annotations

from functools import cache
from pathlib import Path

from kernel_contracts.contracts.elaborate import elaborate
from kernel_contracts.contracts.model import Contract
from kernel_contracts.contracts.vocabulary import Vocabulary
from kernel_contracts.errors import UsageError
from kernel_contracts.language import syntax
from kernel_contracts.language.parser import parse

LIBRARY = Path(__file__).parent / "library"


def load_source(source: str, path: str) -> syntax.File:
    """The file that `use ... from "source"` means: beside `path` first, then the library. FileNotFoundError if none."""
    name = source if source.endswith(".kc") else f"{source}.kc"
    for candidate in (Path(path).parent / name, LIBRARY / name):
        if candidate.is_file():
            return _parsed(str(candidate), candidate.stat().st_mtime_ns)
    raise FileNotFoundError(f"looked for {name} beside {Path(path).name} and in the standard library")


@cache
def _parsed(path: str, stamp: int) -> syntax.File:
    return parse(Path(path).read_text(encoding="utf-8"), path)


def load_file(path: str | Path, vocabulary: Vocabulary | None = None) -> tuple[Contract, ...]:
    """The contracts of one file. Raises UsageError when it cannot be read, LanguageError when it is wrong."""
    path = Path(path)
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or "it is not UTF-8 text"
        raise UsageError(f"cannot read the contract file {path}: {reason}; check the path") from error
    return load_text(text, str(path), vocabulary)


def load_text(text: str, path: str = "<text>", vocabulary: Vocabulary | None = None) -> tuple[Contract, ...]:
    return elaborate(parse(text, path), load_source, vocabulary, text)


def library_files() -> list[Path]:
    """Every contract file of the standard library, in order of name."""
    return sorted(LIBRARY.glob("*.kc"))


_loaded: dict[int, tuple[Contract, ...]] = {}


def standard_library(vocabulary: Vocabulary) -> tuple[Contract, ...]:
    """All contracts of the standard library, elaborated once a process."""
    key = id(vocabulary)
    if key not in _loaded:
        _loaded[key] = tuple(c for path in library_files() for c in load_file(path, vocabulary))
    return _loaded[key]


def operation_file(operation: str) -> Path | None:
    """The library file for an operation: files carry the operation's name."""
    path = LIBRARY / f"{operation}.kc"
    return path if path.is_file() else None

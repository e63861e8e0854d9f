"""Text in the repository holds for everybody: no place of one machine, no host of a registry, clean lines."""

from __future__ import annotations

import re
import subprocess
from functools import cache
from pathlib import Path

import house
import pytest

IGNORED = {
    ".git",
    ".venv",
    "__pycache__",
    ".pytest_cache",
    ".mypy_cache",
    ".ruff_cache",
    ".hypothesis",
    ".kc",
    "build",
    "dist",
}
BINARY = {".png", ".gz", ".npz", ".db"}

# Written in pieces, so that this file does not match itself.
PLACES = {
    "a machine path": re.compile(r"(?<![\w.])/(?:ro" + r"ot|wo" + r"rk|o" + r"pt|Us" + r"ers|ho" + r"me)/\w"),
    "a file of a job": re.compile(r"/tmp" + r"/[\w.]+/"),
    "a host of a registry": re.compile(
        r"py" + r"pi\.org|python" + r"hosted|npm" + r"js\.|conda\.an" + r"aconda|download\.py" + r"torch"
    ),
}

EMPTY_ALLOWED = {"py.typed", "__init__.py"}


@cache
def files() -> tuple[Path, ...]:
    """Every text file that is tracked or about to be."""
    if (house.REPOSITORY / ".git").exists():
        command = ["git", "ls-files", "--cached", "--others", "--exclude-standard", "-z"]
        listed = subprocess.run(command, cwd=house.REPOSITORY, capture_output=True, text=True, timeout=60, check=True)
        found = [house.REPOSITORY / name for name in listed.stdout.split("\0") if name]
    else:
        found = [p for p in house.REPOSITORY.rglob("*") if not IGNORED & set(p.relative_to(house.REPOSITORY).parts)]
    return tuple(sorted(p for p in found if p.is_file() and not p.is_symlink() and p.suffix not in BINARY))


def matches(text: str, pattern: re.Pattern[str]) -> list[tuple[int, str]]:
    return [(n, line.strip()) for n, line in enumerate(text.split("\n"), 1) if pattern.search(line)]


def test_there_is_something_to_look_at() -> None:
    assert {"README.md", "Makefile", "pyproject.toml"} <= {p.name for p in files()}


@pytest.mark.parametrize("what", PLACES)
def test_no_file_names(what: str) -> None:
    found = [
        f"{p.relative_to(house.REPOSITORY)}:{n} {line}"
        for p in files()
        for n, line in matches(p.read_text("utf-8"), PLACES[what])
    ]
    assert not found, f"{what}:\n" + "\n".join(found)


def test_lines_are_clean() -> None:
    wrong = []
    for path in files():
        text = path.read_bytes().decode("utf-8")
        name = path.relative_to(house.REPOSITORY)
        if "\r" in text:
            wrong.append(f"{name}: carriage returns")
        if text and not text.endswith("\n"):
            wrong.append(f"{name}: no newline at the end")
        if not text and path.name not in EMPTY_ALLOWED:
            wrong.append(f"{name}: empty")
        wrong += [
            f"{name}:{n} blanks at the end" for n, line in enumerate(text.split("\n"), 1) if line != line.rstrip(" \t")
        ]
        if path.name != "Makefile":
            wrong += [f"{name}:{n} a tab" for n, _ in matches(text, re.compile("\t"))]
    assert not wrong, "\n".join(wrong)


def test_scripts_can_be_run() -> None:
    scripts = [p for p in files() if p.read_bytes().startswith(b"#!")]
    assert {"run", "demo.sh"} <= {p.name for p in scripts}
    assert [str(p) for p in scripts if not p.stat().st_mode & 0o100] == []


@pytest.mark.parametrize(
    ("what", "line"),
    [
        ("a machine path", "see /" + "root/notes"),
        ("a file of a job", "/tmp" + "/mine/x.py"),
        ("a host of a registry", "index https://py" + "pi.org/simple"),
    ],
)
def test_the_check_of_places_can_fail(what: str, line: str) -> None:
    assert matches(line, PLACES[what]) == [(1, line)]

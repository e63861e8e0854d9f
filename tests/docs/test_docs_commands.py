"""Every command in the documentation runs, in the order of the page, and prints the lines that the page shows.

A page is a shell session in a folder of its own: a code block whose first line is `# name.py` or `# name.kc` is the
file of that name, and a `console` block is what to type with lines to expect. Shown lines must occur in this order;
more may come between. Measured numbers are not compared, whole numbers and words are.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import docs_pages
import pytest

SESSIONS = sorted({b.page for b in docs_pages.blocks("console")})
_MEASURED = (
    (re.compile(r"((?:numpy|torch)(?:@\S+)?) \d+\.\d+\.\d+\S*"), r"\1 #"),
    (re.compile(r"\b\d+ of \d+ (elements|fail|cases)"), r"# of # \1"),
    (re.compile(r"\b\d+\.\d+(?:e[+-]?\d+)?\b|\b\d+e[+-]?\d+\b"), "#"),
    (re.compile(r"\b\d+ (s|times)\b"), r"# \1"),
)
"""What may differ between machines: versions, counts of elements, measured numbers. Whole numbers stay."""


def plain(line: str) -> str:
    """A line with measured numbers masked and blanks made one."""
    for pattern, mask in _MEASURED:
        line = pattern.sub(mask, line)
    return " ".join(line.split())


def commands(text: str) -> list[tuple[str, list[str]]]:
    """Commands with the lines that the page shows below them."""
    found: list[tuple[str, list[str]]] = []
    for line in text.rstrip("\n").split("\n"):
        if line.startswith("$ "):
            found.append((line[2:], []))
        elif found and found[-1][0].endswith("\\"):
            found[-1] = (f"{found[-1][0][:-1]}{line.strip()}", [])
        elif line.strip() and line.strip() != "...":
            found[-1][1].append(line)
    return found


def missing(shown: list[str], printed: str) -> str | None:
    """The first shown line that is not printed after the ones before it."""
    lines = iter(plain(line) for line in printed.split("\n"))
    for line in shown:
        wanted = plain(line)
        if not any(wanted == got or (wanted.endswith(" ...") and got.startswith(wanted[:-4])) for got in lines):
            return line
    return None


@pytest.fixture
def shell(tmp_path: Path) -> dict[str, str]:
    """The environment of a session: `kc` and `python` of this interpreter, an empty folder beside the examples."""
    tools = tmp_path / "bin"
    tools.mkdir()
    for name, arguments in (("kc", '-c "from kernel_contracts.cli import main; main()" '), ("python", "")):
        tool = tools / name
        tool.write_text(f'#!/bin/sh\nexec "{sys.executable}" {arguments}"$@"\n', encoding="utf-8")
        tool.chmod(0o755)
    path = os.pathsep.join([str(tools), os.environ.get("PATH", os.defpath)])
    return {**os.environ, "PATH": path, "COLUMNS": "140", "NO_COLOR": "1", "TERM": "dumb"}


@pytest.mark.parametrize("page", SESSIONS, ids=lambda p: p.relative_to(docs_pages.REPOSITORY).as_posix())
def test_the_commands_of_a_page_print_what_it_shows(page: Path, shell: dict[str, str], tmp_path: Path) -> None:
    folder = tmp_path / "session"
    shutil.copytree(
        docs_pages.REPOSITORY / "examples", folder / "examples", ignore=shutil.ignore_patterns("__pycache__")
    )
    status = 0
    for block in docs_pages.split(page, page.read_text("utf-8")):
        if block.file_name:
            (folder / block.file_name).parent.mkdir(parents=True, exist_ok=True)
            (folder / block.file_name).write_text(block.text, encoding="utf-8")
        for command, shown in commands(block.text) if block.kind == "console" else ():
            if command == "echo $?":
                printed = str(status)
            else:
                arguments = ["bash", "-c", command]
                ran = subprocess.run(
                    arguments, cwd=folder, env=shell, capture_output=True, text=True, timeout=240, check=False
                )
                printed, status = ran.stdout + ran.stderr, ran.returncode
            lost = missing(shown, printed)
            assert lost is None, f"{block}: `{command}` does not print\n{lost}\nbut\n{printed}"


def test_there_are_pages_with_commands() -> None:
    names = {p.name for p in SESSIONS}
    assert {"README.md", "tutorial.md"} <= names


def test_every_shown_line_is_needed() -> None:
    assert commands("$ a\nx\n...\n$ b \\\n  c\ny\n") == [("a", ["x"]), ("b c", ["y"])]
    assert missing(["b  2", "c"], "a\nb 2\nc\n") is None
    assert missing(["c", "b"], "a\nb\nc\n") == "b"
    assert missing(["took 1.5 s"], "took 0.2 s") is None
    assert missing(["11 bits effective"], "12 bits effective") == "11 bits effective"
    assert missing(["took ..."], "took off") is None
    assert missing(["d"], "a") == "d"

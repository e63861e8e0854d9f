"""The documentation as data: its pages, their code blocks and their links."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

REPOSITORY = Path(__file__).parents[2]
PAGES = (REPOSITORY / "README.md", REPOSITORY / "CONTRIBUTING.md", *sorted((REPOSITORY / "docs").rglob("*.md")))

_FENCE = re.compile(r"^(```+)(\S*)[ ]*(.*)$")
_FILE_NAME = re.compile(r"^(?:#|//) ([\w./-]+\.(?:py|kc|c|cl|wgsl))$")
_LINK = re.compile(r"(?<!!)\[[^\]]*\]\(([^)\s]+)\)")
_CLAUSE = re.compile(r"^(scope|pre|post|tolerance|reference|measure|violation|calibrate)\b", re.MULTILINE)

DEFAULTS = {
    "scope": "scope linear for P in {fp32, bf16} (x: P[M, K], w: P[N, K], b: P[N]; eps: real = 1e-5) -> y: P[M, N]",
    "pre": "pre M, N, K in 1..4096 and finite(x, w, b)",
    "post": "post y within tolerance of reference",
    "tolerance": "tolerance derived",
    "reference": "reference { y = round(matmul(x, transpose(w)) + b, P) in max(P, fp32) }",
    "measure": "",
    "violation": "",
    "calibrate": "",
}
"""What a fragment leaves out: a linear layer."""


@dataclass(frozen=True, slots=True)
class Block:
    """One fenced block of code."""

    page: Path
    line: int
    kind: str
    """The first word after the fence."""
    rest: str
    text: str

    @property
    def file_name(self) -> str | None:
        """The name of the file that it shows, when its first line is a comment that says so."""
        found = _FILE_NAME.match(self.text.split("\n", 1)[0])
        return found.group(1) if found else None

    def __str__(self) -> str:
        return f"{self.page.relative_to(REPOSITORY).as_posix()}:{self.line}"


def split(page: Path, text: str) -> Iterator[Block]:
    """Every block of a page."""
    fence, kind, rest, start = "", "", "", 0
    body: list[str] = []
    for number, line in enumerate(text.split("\n"), 1):
        found = _FENCE.match(line)
        if fence and line.startswith(fence):
            yield Block(page, start, kind, rest, "\n".join(body) + "\n")
            fence = ""
        elif fence:
            body.append(line)
        elif found:
            fence, kind, rest, start, body = found[1], found[2], found[3], number, []
    assert not fence, f"{page}:{start} is never closed"


@cache
def blocks(kind: str = "") -> tuple[Block, ...]:
    """Every block of that kind on every page."""
    found = [b for page in PAGES for b in split(page, page.read_text("utf-8"))]
    return tuple(b for b in found if not kind or b.kind == kind)


def contract_text(block: Block) -> str:
    """A whole file; a fragment gets the clauses that it does not show from the defaults."""
    if block.rest != "fragment":
        return block.text
    starts = [m.start() for m in _CLAUSE.finditer(block.text)]
    pieces = [block.text[a:b].rstrip() for a, b in zip(starts, [*starts[1:], len(block.text)], strict=True)]
    shown = {piece.split(None, 1)[0]: piece for piece in pieces}
    clauses = "\n".join(text for text in {**DEFAULTS, **shown}.values() if text)
    head = block.text[: starts[0]] if starts else block.text
    return f"{head}\ncontract example version 1.0 implements C-CMP-01 {{\n{clauses}\n}}\n"


def anchor(heading: str) -> str:
    """The name under which a heading can be linked to."""
    kept = re.sub(r"[^\w\- ]", "", heading.strip().lower())
    return kept.replace(" ", "-")


def prose(text: str) -> str:
    """A page without its code blocks."""
    kept: list[str] = []
    inside = False
    for line in text.split("\n"):
        if line.startswith("```"):
            inside = not inside
        elif not inside:
            kept.append(line)
    return "\n".join(kept)


def anchors(page: Path) -> set[str]:
    return {anchor(line.lstrip("#")) for line in prose(page.read_text("utf-8")).split("\n") if line.startswith("#")}


def links(page: Path) -> list[str]:
    return _LINK.findall(prose(page.read_text("utf-8")))

"""Lines of canonical text, each knowing which source lines it stands for, and the weaving of comments back among them.

A comment at the end of a line stays at the end of the line that says the same; a comment on a line of its own stays
above what it stood above. Where two comments claim the end of one line, the earlier one moves above it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from kernel_contracts.language.scan import scan
from kernel_contracts.language.syntax import Span

WIDTH = 100
"""Lines are broken, where the grammar has a place for it, to stay within this many columns."""


@dataclass(frozen=True, slots=True)
class Line:
    """One line of output; `span` tells the source lines it stands for."""

    depth: int
    text: str
    span: Span
    blank_before: bool = False
    comment: str = ""
    hanging: int = 0
    """Further columns of indentation: the goes-on line of a clause."""
    starts: bool = False
    """The first line of an item."""
    closing: bool = False
    """The end of a block: comments above it are indented like the block's content."""

    @classmethod
    def head(cls, text: str, span: Span, depth: int = 0) -> Line:
        """The line that opens a block: it stands for the first source line only."""
        return cls(depth, text, Span(span.file, span.line, span.column, span.line, span.column))

    @classmethod
    def foot(cls, text: str, span: Span, depth: int = 0) -> Line:
        """The line that closes a block."""
        end = Span(span.file, span.end_line, span.end_column, span.end_line, span.end_column)
        return cls(depth, text, end, closing=True)

    def opening(self, *, blank: bool) -> Line:
        """This line as the first of an item, with or without a blank line above."""
        return replace(self, starts=True, blank_before=blank)

    def __str__(self) -> str:
        text = f"{'  ' * self.depth}{' ' * self.hanging}{self.text}"
        return f"{text}  {self.comment}" if self.comment else text


@dataclass(frozen=True, slots=True)
class Comment:
    """A comment of the source. `own` says that nothing else stands on its line."""

    text: str
    line: int
    own: bool
    blank_after: bool
    span: Span


def comments_of(text: str) -> list[Comment]:
    """Every comment, in order."""
    lines = text.split("\n")
    out: list[Comment] = []
    for token in scan(text):
        if token.kind != "comment":
            continue
        blank_after = token.line < len(lines) and not lines[token.line].strip()
        out.append(Comment(token.text.rstrip(), token.line, token.first, blank_after, token.span("")))
    return out


def join(lines: Sequence[Line]) -> str:
    """The text of the lines; empty when there are none."""
    return "".join(f"\n{line}\n" if line.blank_before else f"{line}\n" for line in lines)


def weave(lines: Sequence[Line], comments: Iterable[Comment]) -> list[Line]:
    """The lines with every comment in its place."""
    out = list(lines)
    above: dict[int, list[Comment]] = {}
    for comment in comments:
        if comment.own:
            here = next((i for i, line in enumerate(out) if line.span.end_line >= comment.line), len(out))
            above.setdefault(here, []).append(comment)
            continue
        here = max((i for i, line in enumerate(out) if line.span.line <= comment.line), default=0)
        if taken := out[here].comment:
            # The lines of one broken construct share a span; what moves up stands above the first of them.
            first = next(i for i, line in enumerate(out) if line.span == out[here].span)
            above.setdefault(first, []).append(replace(comment, text=taken, own=False))
        out[here] = replace(out[here], comment=comment.text)
    woven: list[Line] = []
    for i, line in enumerate([*out, None]):
        group = sorted(above.get(i, []), key=lambda c: c.line)
        woven += _above(line, group, started=bool(woven))
        if line is not None and group and line.starts:
            # The blank line that parts two items stands above the comments of the second.
            line = replace(line, blank_before=group[-1].own and group[-1].blank_after)
        woven += [line] if line else []
    return woven


def _above(line: Line | None, comments: Sequence[Comment], *, started: bool) -> list[Line]:
    """Comment lines above `line`, or at the end of the file when there is none."""
    depth = line.depth + line.closing if line else 0
    outside = line is None or line.starts
    blank = started and outside
    out: list[Line] = []
    for comment in comments:
        hanging = line.hanging if line else 0
        out.append(Line(depth, comment.text, comment.span, blank_before=blank, hanging=hanging))
        blank = outside and comment.own and comment.blank_after
    return out

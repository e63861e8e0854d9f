"""Text to syntax tree: `parse`, `parse_file`, `parse_expression`. A wrong text raises LanguageError with every finding.

A file is data: parsing runs no code of its own. After a mistake the rest of the file is still read, item by item.
"""

from __future__ import annotations

from functools import cache
from importlib import resources
from pathlib import Path
from typing import Any

from lark import Lark, Tree
from lark.exceptions import UnexpectedInput

from kernel_contracts.errors import LanguageError, UsageError
from kernel_contracts.language.diagnostics import Diagnostic, attach, diagnose
from kernel_contracts.language.hints import explain
from kernel_contracts.language.mistake import Mistake
from kernel_contracts.language.scan import ITEMS, Raw, scan
from kernel_contracts.language.syntax import Expr, File, Span
from kernel_contracts.language.transform import Builder

_MOST = 20
"""A text with more wrong items than this is not a contract file; the first ones say so."""


@cache
def _lark() -> Lark:
    grammar = resources.files("kernel_contracts.language").joinpath("grammar.lark").read_text("utf-8")
    starts = ["file", "expression"]
    return Lark(grammar, parser="lalr", start=starts, propagate_positions=True, maybe_placeholders=True)


def parse(text: str, path: str = "<text>") -> File:
    """The tree of a contract file. `path` is what the messages call it."""
    builder = Builder(path)
    try:
        return _build(text, "file", builder)  # type: ignore[no-any-return]
    except UnexpectedInput as error:
        findings = [_explain(error, text, path)]
    rest = text
    while len(findings) < _MOST and (rest := _without_item(rest, findings[-1].span.line)):
        try:
            builder = Builder(path)
            _build(rest, "file", builder)
            break
        except UnexpectedInput as error:
            findings.append(_explain(error, rest, path))
        except LanguageError as error:
            findings += error.diagnostics
            break
    findings.sort(key=lambda d: (d.span.line, d.span.column))
    raise LanguageError(attach(findings, text))


def parse_file(path: str | Path) -> File:
    """The tree of the contract file at `path`."""
    try:
        data = Path(path).read_bytes()
    except OSError as error:
        reason = error.strerror or type(error).__name__
        raise UsageError(f"{path}: cannot read this contract file ({reason}); check the path.") from None
    return parse(decode(data, str(path)), str(path))


def decode(data: bytes, path: str) -> str:
    """The text of a contract file's bytes: UTF-8, a byte order mark allowed."""
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        column = error.start - (data.rfind(b"\n", 0, error.start) + 1) + 1
        found = f"the byte 0x{data[error.start]:02x}"
        hint = "save the file as UTF-8."
        span = Span(path, line, column, line, column + 1)
        raise LanguageError([diagnose("P126", span, found=found, hint=hint)]) from None


def parse_expression(text: str) -> Expr:
    """The tree of one expression, as it may stand in `pre`."""
    path = "<expression>"
    try:
        return _build(text, "expression", Builder(path))  # type: ignore[no-any-return]
    except UnexpectedInput as error:
        raise LanguageError([_explain(error, text, path)]) from None


def _build(text: str, start: str, builder: Builder) -> Any:
    """Parse and transform. The text is wrong in its form: UnexpectedInput; in its order: LanguageError."""
    tree: Tree[Any] = _lark().parse(text, start=start)
    try:
        result = builder.build(tree)
    except LanguageError as error:
        builder.problems += error.diagnostics
    if builder.problems:
        builder.problems.sort(key=lambda d: (d.span.line, d.span.column))
        raise LanguageError(attach(builder.problems, text))
    return result


def _explain(error: UnexpectedInput, text: str, path: str) -> Diagnostic:
    parser = getattr(error, "interactive_parser", None)
    accepts = frozenset(parser.accepts()) if parser else frozenset()
    tokens = [t for t in scan(text) if t.kind != "comment"]
    offset = error.pos_in_stream if error.pos_in_stream is not None else len(text)
    if getattr(getattr(error, "token", None), "type", "") == "$END":
        offset = len(text)
    here = next((i for i, t in enumerate(tokens) if t.end > offset), len(tokens))
    return explain(Mistake(tokens, here, accepts, text, path))


def _without_item(text: str, line: int) -> str:
    """The text with the item around `line` blanked, so that the items after it can be read; empty when none is left."""
    starts = [t for t in scan(text) if t.column == 1 and t.text in ITEMS]
    inside = [t for t in starts if t.line <= line]
    after: Raw | None = next((t for t in starts if t.line > line), None)
    if not inside or (after is None and len(inside) == 1):
        return ""
    begin, end = inside[-1].offset, after.offset if after else len(text)
    blank = "".join(c if c == "\n" else " " for c in text[begin:end])
    return text[:begin] + blank + text[end:]

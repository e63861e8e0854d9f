"""The one canonical text of a tree, and of a file: `print_node`, `print_file`, `format_source` (`kc fmt`).

Parsing the text gives an equal tree, and formatting formatted text changes nothing. Brackets stand where the grammar
needs them and nowhere else.
"""

from __future__ import annotations

from kernel_contracts.language import syntax as s
from kernel_contracts.language.clauses import clauses, guarantee, stacked, tolerance
from kernel_contracts.language.layout import Line, comments_of, join, weave
from kernel_contracts.language.parser import parse
from kernel_contracts.language.write import quote, write


def print_node(node: s.Expr | s.Guarantee | s.Tolerance | s.Item) -> str:
    """An expression, a guarantee or a tolerance on one line; an item of a file on as many as it needs."""
    if isinstance(node, s.Guarantee):
        return guarantee(node)
    if isinstance(node, s.Tolerance):
        return tolerance(node)
    if isinstance(node, s.Item):
        return join(_item(node))
    return write(node, grouped=True)


def print_file(file: s.File) -> str:
    """The canonical text of a tree. Comments are not part of a tree; `format_source` keeps them."""
    return join(_lines(file))


def format_source(text: str, path: str = "<text>") -> str:
    """The canonical text of a source text, its comments kept with what they stand beside or above."""
    return join(weave(_lines(parse(text, path)), comments_of(text)))


def _lines(file: s.File) -> list[Line]:
    out: list[Line] = []
    last: tuple[type, int] | None = None
    for item in file.items:
        lines = _item(item)
        kind = (type(item), len(lines))
        # Neighbouring one-line items of one kind stand close together; all else is parted by a blank line.
        lines[0] = lines[0].opening(blank=bool(out) and not (kind == last and len(lines) == 1))
        last = kind
        out += lines
    return out


def _item(item: s.Item) -> list[Line]:
    match item:
        case s.Use():
            return [Line(0, f"use {', '.join(item.names)} from {quote(item.source)}", item.span)]
        case s.Define():
            return _define(item)
        case s.Profile():
            return _profile(item)
        case s.Contract():
            return _contract(item)


def _define(item: s.Define) -> list[Line]:
    head = f"define {item.name}({', '.join(item.parameters)})"
    if not item.body:
        return [Line(0, f"{head} = {write(item.result, formal=True)}", item.span)]
    result = Line(1, f"return {write(item.result, formal=True)}", item.result.span)
    return [Line.head(f"{head} {{", item.span), *stacked(item.body), result, Line.foot("}", item.span)]


def _profile(item: s.Profile) -> list[Line]:
    names = max((len(e.contract) for e in item.entries), default=0)
    out = [Line.head(f"profile {item.name} version {item.version} {{", item.span)]
    for e in item.entries:
        level = f" at {e.level}" if e.level else ""
        out.append(Line(1, f"{e.contract:<{names}} {e.comparator} {e.version}{level}", e.span))
    return [*out, Line.foot("}", item.span)]


def _contract(item: s.Contract) -> list[Line]:
    header, doc, body = item.place("header"), item.place("doc"), item.place("body")
    out = [Line(0, f"contract {item.name} version {item.version} implements {item.implements}", header)]
    out += [Line(0, text, doc) for text in _doc(item.doc)]
    return [*out, Line.head("{", body), *clauses(item), Line.foot("}", body)]


def _doc(text: str) -> list[str]:
    if not text:
        return []
    if '"""' in text:
        return [quote(text)]
    # A quote at the end would run into the closing ones; outer space is not part of a docstring.
    return f'"""{text}{" " if text.endswith(chr(34)) else ""}"""'.split("\n")

"""Building expressions out of the parse tree; chained comparisons become conjunctions here."""

from __future__ import annotations

import re
from typing import Any

from lark import Token

from kernel_contracts.language import syntax as s
from kernel_contracts.language.diagnostics import Diagnostic

_ESCAPES = {"n": "\n", "t": "\t", '"': '"', "\\": "\\"}


def cover(first: s.Span, last: s.Span) -> s.Span:
    """From the begin of one span to the end of another."""
    return s.Span(first.file, first.line, first.column, last.end_line, last.end_column)


def fold(op: str, parts: list[s.Expr]) -> s.Expr:
    """`a op b op c`, grouped from the left."""
    out = parts[0]
    for part in parts[1:]:
        out = s.Binary(op, out, part, span=cover(out.span, part.span))
    return out


class Expressions:
    """Callbacks of the expression rules."""

    path: str
    problems: list[Diagnostic]

    def span(self, meta: Any) -> s.Span:
        if meta.empty:
            return s.Span(self.path, 1, 1, 1, 1)
        return s.Span(self.path, meta.line, meta.column, meta.end_line, meta.end_column)

    def token_span(self, token: Token) -> s.Span:
        line, column = token.line or 1, token.column or 1
        return s.Span(self.path, line, column, token.end_line or line, token.end_column or column)

    def unquote(self, token: str) -> str:
        return re.sub(r"\\(.)", lambda m: _ESCAPES.get(m.group(1), m.group(0)), token[1:-1])

    def parens(self, meta: Any, items: list[s.Expr]) -> s.Expr:
        return items[0]

    def plain(self, meta: Any, items: list[s.Expr]) -> s.Expr:
        return items[0]

    def grouped(self, meta: Any, items: list[s.Expr]) -> s.Expr:
        return items[0]

    def formal(self, meta: Any, items: list[s.Expr]) -> s.Expr:
        return items[0]

    def name(self, meta: Any, items: list[Token]) -> s.Name:
        return s.Name(str(items[0]), span=self.span(meta))

    def number(self, meta: Any, items: list[Token]) -> s.Number:
        return s.Number(str(items[0]), span=self.span(meta))

    def text(self, meta: Any, items: list[Token]) -> s.Text:
        return s.Text(self.unquote(items[0]), span=self.span(meta))

    def call(self, meta: Any, items: list[Any]) -> s.Call:
        function, arguments = items
        return s.Call(str(function), tuple(arguments or ()), span=self.span(meta))

    def arguments(self, meta: Any, items: list[s.Argument]) -> list[s.Argument]:
        return items

    def argument(self, meta: Any, items: list[s.Expr]) -> s.Argument:
        return s.Argument(None, items[0], span=self.span(meta))

    def keyword_argument(self, meta: Any, items: list[Any]) -> s.Argument:
        keyword, value = items
        return s.Argument(str(keyword), value, span=self.span(meta))

    option = keyword_argument

    def items(self, meta: Any, items: list[s.Expr]) -> list[s.Expr]:
        return items

    def listing(self, meta: Any, items: list[Any]) -> s.Listing:
        return s.Listing(tuple(items[0] or ()), span=self.span(meta))

    def choice(self, meta: Any, items: list[Any]) -> s.Choice:
        return s.Choice(tuple(items[0] or ()), span=self.span(meta))

    def group(self, meta: Any, items: list[s.Expr]) -> s.Group:
        return s.Group(tuple(items), span=self.span(meta))

    def _binary(self, op: str, meta: Any, items: list[s.Expr]) -> s.Binary:
        left, right = items
        return s.Binary(op, left, right, span=self.span(meta))

    def disjunction(self, meta: Any, items: list[s.Expr]) -> s.Binary:
        return self._binary("or", meta, items)

    def conjunction(self, meta: Any, items: list[s.Expr]) -> s.Binary:
        return self._binary("and", meta, items)

    def member(self, meta: Any, items: list[s.Expr]) -> s.Binary:
        return self._binary("in", meta, items)

    group_member = member

    def interval(self, meta: Any, items: list[s.Expr]) -> s.Binary:
        return self._binary("..", meta, items)

    def power(self, meta: Any, items: list[s.Expr]) -> s.Binary:
        return self._binary("^", meta, items)

    def addition(self, meta: Any, items: list[Any]) -> s.Binary:
        left, op, right = items
        return self._binary(str(op), meta, [left, right])

    multiplication = addition
    equality = addition

    def order(self, meta: Any, items: list[Any]) -> s.Expr:
        """`a < b` as it is; `a < b < c` as `a < b and b < c`."""
        links: list[s.Expr] = []
        for left, op, right in zip(items[::2], items[1::2], items[2::2], strict=False):
            links.append(s.Binary(str(op), left, right, span=cover(left.span, right.span)))
        return fold("and", links)

    def negation(self, meta: Any, items: list[s.Expr]) -> s.Unary:
        return s.Unary("not", items[0], span=self.span(meta))

    def sign(self, meta: Any, items: list[Any]) -> s.Unary:
        op, operand = items
        return s.Unary(op.value, operand, span=self.span(meta))

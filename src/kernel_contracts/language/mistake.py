"""A place where the grammar stops, in the user's words: what stands around it, what could stand there instead."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from kernel_contracts.language.diagnostics import Diagnostic, diagnose
from kernel_contracts.language.scan import CLAUSES, ITEMS, Raw
from kernel_contracts.language.syntax import Span

_SHOWN = {
    "NAME": "a name",
    "ID": "a name",
    "NUMBER": "a number",
    "STRING": 'a text in "quotes"',
    "LONG_STRING": 'a text in """quotes"""',
    "VERSION": "a version such as 1.0",
    "COMPARATOR": "`>=`",
    "LPAR": "`(`",
    "RPAR": "`)`",
    "LSQB": "`[`",
    "RSQB": "`]`",
    "LBRACE": "`{`",
    "RBRACE": "`}`",
    "COMMA": "`,`",
    "_OPTION_COMMA": "`,`",
    "COLON": "`:`",
    "SEMICOLON": "`;`",
    "_ARROW": "`->`",
    "_ASSIGN": "`=`",
    "ADDOP": "`+`",
    "ORDER": "`<`",
    "EQUALITY": "`==`",
    "_CARET": "`^`",
    "_DOTS": "`..`",
    "$END": "the end of the file",
}
_OPERATORS = {"ADDOP", "MULOP", "ORDER", "EQUALITY", "_CARET", "_DOTS"}
_EXPRESSION = {"NAME", "NUMBER", "STRING", "LPAR", "LSQB", "LBRACE", "ADDOP", "_NOT"}
_WORD_OPERATORS = {"_AND", "_OR", "_IN"}
_CLAUSE_TERMINALS = {f"_{c.upper()}" for c in CLAUSES}


def keyword(terminal: str) -> str:
    """The word a keyword terminal stands for; empty for other terminals."""
    known = terminal in _SHOWN or terminal in _OPERATORS
    return terminal[1:].lower() if terminal.startswith("_") and not known else ""


def expected(accepts: frozenset[str]) -> str:
    """What could stand here, as the user would type it."""
    left = set(accepts)
    out: list[str] = []
    if {"NAME", "NUMBER", "LPAR"} <= left:
        out.append("an expression")
        left -= _EXPRESSION
    if "MULOP" in left:
        out.append("an operator")
        left -= _OPERATORS | _WORD_OPERATORS | {"LPAR"}
    if len(left & _CLAUSE_TERMINALS) > 2:
        out.append("the next clause")
        left -= _CLAUSE_TERMINALS
    out += ["`good`, `bad` or `baseline`"] if "STATE" in left else []
    words = {f"`{word}`" if (word := keyword(t)) else _SHOWN.get(t, "") for t in left}
    out += sorted(words - {""}, key=lambda w: (w.startswith("`"), w))
    return out[0] if len(out) == 1 else f"one of: {', '.join(out)}" if out else ""


@dataclass(frozen=True, slots=True)
class Mistake:
    """Where reading stopped: the tokens without comments, the place among them, what could stand there."""

    tokens: Sequence[Raw]
    index: int
    accepts: frozenset[str]
    text: str
    path: str

    def at(self, offset: int) -> Raw | None:
        """The token so many places from here."""
        i = self.index + offset
        return self.tokens[i] if 0 <= i < len(self.tokens) else None

    def word(self, offset: int) -> str:
        token = self.at(offset)
        return token.text if token else ""

    @property
    def span(self) -> Span:
        if here := self.at(0):
            return here.span(self.path)
        last = self.tokens[-1].span(self.path) if self.tokens else Span(self.path, 1, 1, 1, 1)
        return Span(self.path, last.end_line, last.end_column, last.end_line, last.end_column + 1)

    def run(self, first: int, last: int) -> Span:
        """From the token at `first` to the one at `last`, both counted from here."""
        begin, end = self.tokens[self.index + first], self.tokens[self.index + last].span(self.path)
        return Span(self.path, begin.line, begin.column, end.end_line, end.end_column)

    def touching(self, offset: int) -> bool:
        """The token there and the next one have nothing between them."""
        left, right = self.at(offset), self.at(offset + 1)
        return left is not None and right is not None and left.end == right.offset

    @property
    def clause(self) -> str:
        """The clause in which reading stopped; empty outside of contracts."""
        for i in range(self.index - 1, -1, -1):
            token, before = self.tokens[i], self.tokens[i - 1].text if i else ""
            if token.text in CLAUSES and before not in ("of", "equal", "within", "(", ",", "="):
                return token.text
            if token.text in ITEMS and token.first:
                return ""
        return ""

    @property
    def item(self) -> str:
        """The kind of item in which reading stopped."""
        before = self.tokens[: self.index]
        return next((t.text for t in reversed(before) if t.text in ITEMS and t.first), "")

    def report(
        self, code: str, message: str = "", hint: str = "", *, span: Span | None = None, expected: str = ""
    ) -> Diagnostic:
        # Without an expectation beside it, `found` would only repeat what the message and the caret show.
        found = f"`{self.word(0)}`" if self.at(0) and expected and span is None else ""
        where = span or self.span
        return diagnose(code, where, message, expected=expected, found=found, hint=hint, text=self.text)

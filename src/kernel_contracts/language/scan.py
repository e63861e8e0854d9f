"""The raw words of a source text, right or wrong: comments, strings, words, marks, with their places.

Needed where the grammar cannot help: to keep comments, to say what surrounds a mistake, to find a bracket that was
never closed. It never fails: a character that starts nothing is a token of its own.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass

from kernel_contracts.language.syntax import Span

ITEMS = ("contract", "define", "use", "profile")
"""The words that begin an item of a file."""

CLAUSES = ("scope", "pre", "post", "tolerance", "reference", "measure", "violation", "calibrate")
"""The clauses of a contract in their one order."""

RESERVED = ("and", "or", "not", "in")
"""Words that are never names."""

_TOKEN = re.compile(
    r"""(?P<comment>\#[^\n]*)
      | (?P<string>\"\"\"(?:.|\n)*?\"\"\"|"(?!"")(?:[^"\\\n]|\\.)*")
      | (?P<word>[A-Za-z_][A-Za-z0-9_]*)
      | (?P<number>0[xX][0-9a-fA-F]+|[0-9]+(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?)
      | (?P<mark>\*\*|==|!=|<=|>=|->|\.\.|//|&&|\|\||\S)""",
    re.VERBOSE,
)
_PAIRS = {"(": ")", "[": "]", "{": "}"}


@dataclass(frozen=True, slots=True)
class Raw:
    """One token: what it looks like and where it stands."""

    kind: str
    """comment, string, word, number or mark."""
    text: str
    offset: int
    line: int
    column: int
    first: bool
    """Nothing but space stands before it on its line."""

    @property
    def end(self) -> int:
        return self.offset + len(self.text)

    def span(self, path: str) -> Span:
        lines = self.text.split("\n")
        column = len(lines[-1]) + (1 if len(lines) > 1 else self.column)
        return Span(path, self.line, self.column, self.line + len(lines) - 1, column)


def scan(text: str) -> list[Raw]:
    """Every token of the text, comments included."""
    starts = [0, *(m.end() for m in re.finditer("\n", text))]
    out: list[Raw] = []
    for match in _TOKEN.finditer(text):
        line = bisect_right(starts, match.start())
        begin = starts[line - 1]
        first = not text[begin : match.start()].strip()
        out.append(Raw(match.lastgroup or "", match.group(), match.start(), line, match.start() - begin + 1, first))
    return out


@dataclass(frozen=True, slots=True)
class Imbalance:
    """A bracket without its partner."""

    bracket: Raw
    opening: bool
    """True: `bracket` was never closed. False: it closes nothing."""
    seen: Raw | None
    """Where it shows: the token that could not be there, or None at the end of the text."""


def imbalance(tokens: Sequence[Raw]) -> Imbalance | None:
    """The first bracket without a partner.

    Which of several open braces lacks its partner is read from the layout: a `}` that begins its line further left than
    the line of the innermost open brace closes an outer one.
    """
    stack: list[tuple[Raw, int]] = []
    suspect: Raw | None = None
    indent = 1
    for token in tokens:
        if token.first:
            indent = token.column
            if token.column == 1 and token.text in ITEMS and stack:
                return Imbalance(suspect or stack[-1][0], True, token)
        if token.text in _PAIRS:
            stack.append((token, indent))
        elif token.text in _PAIRS.values():
            if all(_PAIRS[bracket.text] != token.text for bracket, _ in stack):
                return Imbalance(token, False, token)
            bracket, level = stack.pop()
            if _PAIRS[bracket.text] != token.text:
                return Imbalance(bracket, True, token)
            if token.first and token.column < level and suspect is None:
                suspect = bracket
    return Imbalance(suspect or stack[-1][0], True, None) if stack else None

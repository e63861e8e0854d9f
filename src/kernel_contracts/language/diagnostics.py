"""Findings about a contract text, as data and as prose: code, place, what was expected, what was found, the next step.

Every code is registered once, with an explanation and the smallest text that triggers it; the reference page and
`kc explain` print from the registry, so no finding is without its documentation. Codes are prefixed by phase
(P1 parse, N2 names, T3 types, S4 soundness, M5 measurement, L6 lint) and are never reused.
"""

from __future__ import annotations

import difflib
import linecache
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

from kernel_contracts.language.syntax import Span

Severity = Literal["error", "warning"]

PHASES: dict[str, str] = {
    "P1": "Parsing",
    "N2": "Names",
    "T3": "Types, shapes and formats",
    "S4": "Tolerances and soundness",
    "M5": "Measurement, violations and calibration",
    "L6": "Advice",
}
"""What each prefix is about, in the order in which a contract is read."""


@dataclass(frozen=True, slots=True)
class CodeInfo:
    """What a code means. `example` is the smallest contract file that triggers it."""

    title: str
    explanation: str
    example: str
    severity: Severity


CODES: dict[str, CodeInfo] = {}
"""Every code registered so far; a phase registers its own when its module is imported."""


def register(code: str, title: str, explanation: str, example: str, *, severity: Severity = "error") -> None:
    """Add a code. Registering it a second time with another meaning is a mistake of the program."""
    if code[:2] not in PHASES or not code[1:].isdigit() or len(code) != 4:
        raise ValueError(f"code={code!r}: a code is one of {', '.join(PHASES)} and two digits")
    info = CodeInfo(title, explanation, example, severity)
    if CODES.setdefault(code, info) != info:
        raise ValueError(f"code={code!r} is already registered as {CODES[code].title!r}")


@dataclass(frozen=True, slots=True)
class Diagnostic:
    """One finding. `str()` of it is the whole message a person reads."""

    code: str
    severity: Severity
    message: str
    span: Span
    expected: str = ""
    found: str = ""
    hint: str = ""
    """The next step, as a sentence."""
    source: str = field(default="", compare=False, repr=False)
    """The text of the line on which the span begins; empty where it is not known."""

    def __str__(self) -> str:
        return render(self)


def diagnose(
    code: str, span: Span, message: str = "", *, expected: str = "", found: str = "", hint: str = "", text: str = ""
) -> Diagnostic:
    """A finding with a registered code. `message` defaults to the title; `text` is the whole source, if at hand."""
    info = CODES[code]
    source = _line_of(text, span.line)
    return Diagnostic(code, info.severity, message or info.title, span, expected, found, hint, source)


def attach(diagnostics: Iterable[Diagnostic], text: str) -> list[Diagnostic]:
    """The same findings, each with its source line out of `text`."""
    return [d if d.source else replace(d, source=_line_of(text, d.span.line)) for d in diagnostics]


def render(diagnostic: Diagnostic) -> str:
    """The message: code and sentence, file:line:column, the source line with a caret, expected, found, next step."""
    d = diagnostic
    word = "" if d.severity == "error" else f" {d.severity}:"
    out = [f"{d.code}{word} {d.message}", f"  {d.span.file}:{d.span.line}:{d.span.column}"]
    # The file itself answers where no text was attached; its absence costs the excerpt and nothing else.
    line = d.source or linecache.getline(d.span.file, d.span.line).rstrip("\r\n")
    if line.strip():
        number = f"{d.span.line:>5}"
        out += [f"{number} | {line}", f"{' ' * len(number)} | {_caret(line, d.span)}"]
    if d.expected:
        out.append(f"  expected  {d.expected}")
    if d.found:
        out.append(f"  found     {d.found}")
    if d.hint:
        out.append(f"  Next step: {d.hint}")
    return "\n".join(out)


def _line_of(text: str, line: int) -> str:
    lines = text.split("\n")
    return lines[line - 1].rstrip("\r") if text and 0 < line <= len(lines) else ""


def _caret(line: str, span: Span) -> str:
    """Carets under the span, or under its first line when it runs over several."""
    start = min(span.column - 1, len(line))
    end = span.end_column - 1 if span.end_line == span.line else len(line.rstrip())
    # Tabs stay tabs, so that the caret stands right at any tab width.
    return "".join("\t" if c == "\t" else " " for c in line[:start]) + "^" * max(1, end - start)


def nearest(name: str, candidates: Iterable[str]) -> str | None:
    """The candidate that `name` was probably meant to be; None when none is close."""
    pool = {c.lower(): c for c in sorted(candidates, reverse=True)}
    close = difflib.get_close_matches(name.lower(), pool, n=1, cutoff=0.6 if len(name) > 3 else 0.5)
    return pool[close[0]] if close else None


def did_you_mean(name: str, candidates: Iterable[str]) -> str:
    """A hint: `did you mean `x`?`, or the choices when none is close and they are few; else empty."""
    choices = sorted(set(candidates))
    if (close := nearest(name, choices)) is not None:
        return f"did you mean `{close}`?"
    return f"choose {one_of(choices)}." if 0 < len(choices) <= 12 else ""


def one_of(names: Sequence[str]) -> str:
    """`a`, `b` or `c`."""
    quoted = [f"`{n}`" for n in names]
    return " or ".join([", ".join(quoted[:-1]), quoted[-1]] if len(quoted) > 1 else quoted)


def code_section(code: str) -> str:
    """The reference entry of one code, in Markdown."""
    info = CODES[code]
    parts = [f"### {code}: {info.title}", f"*{info.severity}*. {info.explanation}"]
    if info.example:
        parts.append(f"```\n{info.example.rstrip()}\n```")
    return "\n\n".join(parts) + "\n"


def errors_page() -> str:
    """The reference page of every registered code, phase by phase."""
    parts = [
        "# Codes\n",
        "Every finding about a contract file has a code. Under each: what it means, and the smallest file that shows\n"
        "it. `kc explain CODE` prints the same. This page is generated from the registry of codes.\n",
    ]
    for prefix, title in PHASES.items():
        if codes := sorted(c for c in CODES if c.startswith(prefix)):
            parts += [f"## {title}\n", *(code_section(c) for c in codes)]
    return "\n".join(parts)

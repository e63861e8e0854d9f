"""What a person reads when a text is wrong: whole messages, carets, recovery, and never a crash."""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from kernel_contracts.errors import LanguageError
from kernel_contracts.language.diagnostics import Diagnostic, attach, diagnose, render
from kernel_contracts.language.mistake import expected
from kernel_contracts.language.parser import _lark, parse, parse_expression
from kernel_contracts.language.syntax import Span

GOLDEN = Path(__file__).parent / "golden"
SKETCHES = (Path(__file__).parent / "sketches.kc").read_text("utf-8")
HEAD = "contract a version 1.0 implements C-PRC-01\n{\n  scope f (x: P[N]) -> y: P[N]\n"


def wrong(text: str) -> list[Diagnostic]:
    with pytest.raises(LanguageError) as caught:
        parse(text, "demo.kc")
    return list(caught.value.diagnostics)


def clause(text: str) -> Diagnostic:
    (found,) = wrong(f"{HEAD}  {text}\n}}\n")
    return found


@pytest.mark.parametrize("path", sorted(GOLDEN.glob("*.txt")), ids=lambda p: p.stem)
def test_whole_messages(path: Path) -> None:
    """A golden file is a wrong text, a line of dashes, and all that is said about it."""
    text, said = path.read_text("utf-8").split("\n--------\n")
    messages = "\n\n".join(map(str, wrong(text + "\n"))) + "\n"
    if os.environ.get("UPDATE_GOLDEN"):
        path.write_text(f"{text}\n--------\n{messages}", "utf-8")
    assert messages == said


@pytest.mark.parametrize(
    ("text", "code", "under"),
    [
        ("pre N > 1 &&& N", "P131", "&&"),
        ("pre finite(x", "P105", "("),
        ("pre N == ", "P101", "}"),
        ("tolerance ulp 2", "P114", "ulp"),
        ("tolerance absolute", "P101", "}"),
        ("tolerance relativ 1 of 2", "P130", "relativ"),
        ("post polcy nan = mask", "P130", "polcy"),
        ("post y witihn tolerance of 1", "P130", "witihn"),
        ("post policy nan-result = mask", "P110", "nan-result"),
        ("post x, y + 1 unchanged", "P121", "y + 1"),
        ("post y bitwise equal where N > 1", "P118", "y bitwise equal where N > 1"),
        ("pre N < 1.", "P124", "."),
        ("pre N < .5", "P124", "."),
        ("pre 2x < 1", "P124", "2x"),
        ("calibrate { god emulated }", "P130", "god"),
        ("calibrate { good emulated  bad mutant(no max) }", "P129", "max"),
        ("pre N > 1 and", "P101", "}"),
        ("reference { y = 'a' }", "P103", "'"),
        ("measure { inputs }", "P101", "}"),
        ("pre x ? 1", "P103", "?"),
        ('reference python "m:f', "P104", '"'),
        ("post", "P125", "post"),
        ("tolerance", "P125", "tolerance"),
        ("measure", "P125", "measure"),
        ("reference { return y }", "P101", "y"),
        ("pre N ≤ 4", "P103", "≤"),
        ("tolerance relative of 2", "P114", "relative"),
        ("tolerance 1e-3 of abs(y)", "P101", "of"),
    ],
)
def test_the_caret_stands_under_the_cause(text: str, code: str, under: str) -> None:
    found = clause(text)
    lines = str(found).split("\n")
    at = next(i for i, line in enumerate(lines) if set(line.split("|")[-1].strip()) == {"^"})
    start, length = lines[at].index("^"), lines[at].count("^")
    assert found.code == code
    assert lines[at - 1][start : start + length] == under


def test_carets_follow_tabs() -> None:
    (found,) = wrong("define f(x) =\n\t\tx **\t2\n")
    source, caret = render(found).split("\n")[2:4]
    assert source.endswith("| \t\tx **\t2")
    assert caret.endswith("| \t\t  ^^")


def test_a_finding_over_several_lines_is_marked_on_its_first() -> None:
    text = f"{HEAD}  post y bitwise equal\n    where N > 1\n}}\n"
    (found,) = wrong(text)
    assert str(found).split("\n")[2:4] == ["    4 |   post y bitwise equal", "      |        ^^^^^^^^^^^^^^^"]


def test_a_finding_without_its_source_still_reads() -> None:
    found = diagnose("P101", Span("nowhere.kc", 3, 2, 3, 4), "a `b`", hint="do c.")
    assert str(found) == "P101 a `b`\n  nowhere.kc:3:2\n  Next step: do c."
    (with_source,) = attach([found], "one\ntwo\n three\n")
    assert "    3 |  three\n      |  ^^" in str(with_source)
    assert with_source == found
    assert attach([with_source], "other") == [with_source]


def test_a_finding_reads_its_line_from_the_file(tmp_path: Path) -> None:
    path = tmp_path / "a.kc"
    path.write_text("one\ntwo\n", "utf-8")
    found = diagnose("P101", Span(str(path), 2, 1, 2, 4), "a `b`")
    assert "    2 | two\n      | ^^^" in str(found)


def test_every_wrong_item_is_reported_in_order() -> None:
    text = "define f(x) = x **2\n\ndefine g(x) = x\n\n" + f"{HEAD}  pre N = 1\n}}\n\nuse a frm " + '"b"\n\n'
    text += f"{HEAD}  pre N > 1\n  pre N > 2\n}}\n"
    found = wrong(text)
    assert [(d.code, d.span.line) for d in found] == [("P111", 1), ("P113", 8), ("P130", 11), ("P108", 17)]
    assert all(d.source for d in found)


def test_a_word_at_the_start_of_a_docstring_line_is_no_item() -> None:
    text = 'contract a version 1 implements X\n"""\nuse it\n"""\n{\n  scope f () -> y: P\n  pre N = 1\n}\n'
    assert [d.code for d in wrong(text)] == ["P113"]


def test_a_level_needs_its_at() -> None:
    (found,) = wrong("profile p version 1 {\n  a >= 1.0 L3\n  b >= 1.0 at L2\n}\n")
    assert (found.code, found.span.line, found.span.column, found.hint) == ("P101", 2, 12, "write `at L3`.")


def test_several_mistakes_of_order_in_one_contract() -> None:
    text = f"{HEAD}  violation a\n  pre N > 1\n  post x + 1 unchanged\n}}\n"
    assert [d.code for d in wrong(text)] == ["P107", "P107", "P121"]


def test_findings_of_an_expression() -> None:
    with pytest.raises(LanguageError, match=r"<expression>:1:7") as caught:
        parse_expression("a and or b")
    assert caught.value.diagnostics[0].expected == "an expression"


def test_expectations_never_show_a_terminal_of_the_grammar() -> None:
    """Whatever set of terminals could stand somewhere, the user reads words and marks."""
    names = frozenset(t.name for t in _lark().terminals) | {"$END"}
    ignored = {t.name for t in _lark().terminals if t.name in _lark().ignore_tokens}
    for name in names - ignored:
        shown = expected(frozenset([name]))
        assert shown, name
        assert not re.search(r"[A-Z]{2}|_", shown), (name, shown)


WORDS = "and or in == ** .. post pre scope where of 1. .5 2x contract define"
PIECES = [*'()[]{},;:=-#$é\t\n"', *WORDS.split(), '"""']


@settings(max_examples=250, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.data())
def test_any_damage_is_answered_by_findings(data: st.DataObject) -> None:
    """A text with pieces removed, doubled or put in parses or is answered by findings that point into it."""
    items = re.split(r"(?m)^(?=contract|define|use|profile)", SKETCHES)
    text = data.draw(st.sampled_from(items))
    for _ in range(data.draw(st.integers(1, 3))):
        at = data.draw(st.integers(0, len(text)))
        cut = data.draw(st.integers(0, 6))
        text = text[:at] + data.draw(st.sampled_from(["", *PIECES])) + text[at + cut :]
    lines = text.split("\n")
    for found in findings(text):
        assert 1 <= found.span.line <= len(lines)
        assert 1 <= found.span.column <= len(lines[found.span.line - 1]) + 1
        assert str(found).startswith(f"{found.code} ")
        assert found.hint or found.expected


def findings(text: str) -> tuple[Diagnostic, ...]:
    """What is wrong with the text; nothing when it parses."""
    try:
        parse(text, "demo.kc")
    except LanguageError as error:
        return error.diagnostics or pytest.fail("a refusal without a finding")
    return ()

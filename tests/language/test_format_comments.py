"""Formatting keeps every comment with what it stood beside or above, and formatting twice is formatting once."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from kernel_contracts.language.layout import comments_of
from kernel_contracts.language.parser import parse
from kernel_contracts.language.printer import format_source

SKETCHES = (Path(__file__).parent / "sketches.kc").read_text("utf-8")
HEAD = "contract a version 1 implements X {\n  scope f (x: P[N]) -> y: P[N]\n"


def test_the_worked_file_keeps_its_comments_in_place() -> None:
    golden = Path(__file__).parent / "golden"
    assert format_source((golden / "comments_before.kc").read_text("utf-8")) == (
        golden / "comments_after.kc"
    ).read_text("utf-8")


@settings(max_examples=40, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.data())
def test_comments_anywhere_survive_once_and_formatting_settles(data: st.DataObject) -> None:
    """Comments at line ends and on lines of their own, at random places of a real file."""
    lines = SKETCHES.split("\n")
    start = data.draw(st.sampled_from([i for i, line in enumerate(lines) if line.startswith(("contract", "define"))]))
    lines = lines[start : start + 30]
    while lines and lines[-1] not in ("}", ""):
        lines.pop()
    count = 0
    for i in reversed(range(len(lines))):
        kind = data.draw(st.sampled_from(["none", "none", "beside", "above", "split"]))
        if kind == "none" or '"""' in lines[i]:
            continue
        count += 1
        if kind == "beside" and lines[i].strip() and "#" not in lines[i]:
            lines[i] += f" # note {count}"
        elif kind == "split" and " and " in lines[i] and "#" not in lines[i]:
            lines[i] = lines[i].replace(" and ", f" # note {count}\n and ", 1)
        else:
            lines.insert(i, f"# note {count}")
    text = "\n".join(lines)
    once = format_source(text)
    assert format_source(once) == once
    assert parse(once) == parse(text)
    assert sorted(c.text for c in comments_of(once)) == sorted(c.text for c in comments_of(text))


def test_a_comment_stays_above_the_clause_it_was_above() -> None:
    text = HEAD + "# about pre\n  pre N > 1\n      # about post\n  post x unchanged\n# last\n}\n"
    lines = format_source(text).split("\n")
    assert lines[lines.index("  # about pre") + 1].startswith("  pre")
    assert lines[lines.index("  # about post") + 1].startswith("  post")
    assert lines[lines.index("  # last") + 1] == "}"


def test_when_lines_are_joined_earlier_comments_move_above() -> None:
    text = HEAD + "  pre N > 1 # first\n  and N < 9 # second\n}\n"
    assert "  # first\n  pre       N > 1 and N < 9  # second\n" in format_source(text)


def test_a_hash_in_a_string_is_no_comment() -> None:
    text = 'use a from "x # y"\n'
    assert format_source(text) == text
    assert comments_of(text) == []


@pytest.mark.parametrize("text", ["", "# one\n", "# one\n\n# two\n"])
def test_files_without_items(text: str) -> None:
    assert format_source(text) == text


def test_blank_lines_are_canonical() -> None:
    text = 'use a from "x"\n\n\nuse b from "y"\n# note\nuse c from "z"\ndefine f(x) = x\n\n\n# end\n'
    assert format_source(text) == (
        'use a from "x"\nuse b from "y"\n\n# note\nuse c from "z"\n\ndefine f(x) = x\n\n# end\n'
    )


def test_no_line_ends_in_space() -> None:
    text = 'contract a version 1 implements X\n"""One.   \n\n  Two.  """\n{ scope f () -> y: P # c   \n}'
    assert all(line == line.rstrip() for line in format_source(text).split("\n"))


def test_docstrings_that_would_close_early() -> None:
    quoted = r'contract a version 1 implements X "say \"\"\" and \"so\"" { scope f () -> y: P }'
    ends = 'contract a version 1 implements X """say "so" """ { scope f () -> y: P }'
    for text in (quoted, ends):
        once = format_source(text)
        assert parse(once) == parse(text)
        assert format_source(once) == once

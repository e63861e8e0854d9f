"""What advice is given on right files, and where none is due."""

from __future__ import annotations

from pathlib import Path

import pytest

from kernel_contracts.language.lint import lint, names_in
from kernel_contracts.language.parser import parse, parse_expression

SKETCHES = (Path(__file__).parent / "sketches.kc").read_text("utf-8")
WHOLE = '''contract a version 1.0 implements C-PRC-01
"""A claim."""
{
  scope     f for P in {fp16} (x: P[N]; eps: real) -> y: P[N]
  reference { m = double(x)  y = m + eps }
  measure   { inputs normal }
  violation saturated
  calibrate { good emulated  bad mutant(clamp)  baseline zeros }
}
'''


def codes(text: str) -> list[str]:
    return [d.code for d in lint(parse(text))]


def test_a_whole_contract_needs_no_advice() -> None:
    assert codes("define double(x) = x + x\n" + WHOLE) == []
    assert codes('use double from "nn"\n' + WHOLE) == []


def test_a_library_of_definitions_needs_no_use() -> None:
    assert codes("define double(x) = x + x\ndefine triple(x) = x + double(x)\n") == []


def test_a_definition_used_only_by_itself_is_unused() -> None:
    assert codes("define double(x) = x + x\ndefine loop(x) = loop(x)\n" + WHOLE) == ["L601"]


def test_a_name_as_use_and_as_definition_is_there_twice() -> None:
    assert codes('use double from "nn"\ndefine double(x) = x + x\n' + WHOLE) == ["L606"]


def test_kinds_of_items_have_names_of_their_own() -> None:
    assert codes("define double(x) = x\n" + WHOLE + "profile a version 1 { a >= 1.0 at L1 }\n") == []


def test_a_statement_overwritten_before_it_is_read_counts_by_name() -> None:
    text = WHOLE.replace("m = double(x)  y = m + eps", "m = x  m = m + eps  y = m")
    assert codes(text) == []


@pytest.mark.parametrize(
    ("states", "lacks"),
    [("good a  bad b", "`baseline`"), ("good a", "`bad` and `baseline`"), ("bad a", "`good` and `baseline`")],
)
def test_the_missing_states_are_named(states: str, lacks: str) -> None:
    text = WHOLE.replace("good emulated  bad mutant(clamp)  baseline zeros", states)
    (found,) = lint(parse("define double(x) = x + x\n" + text))
    assert found.code == "L612"
    assert found.message == f"the calibration of `a` lacks {lacks}"
    assert found.span.line == 9


def test_advice_comes_in_the_order_of_the_text() -> None:
    found = lint(parse(SKETCHES))
    assert found
    assert [d.span.line for d in found] == sorted(d.span.line for d in found)
    assert all(d.severity == "warning" and d.hint for d in found)


def test_a_reference_in_python_hides_what_it_reads() -> None:
    text = WHOLE.replace("{ m = double(x)  y = m + eps }", 'python "m:f"')
    assert codes(text) == []


def test_names_in_an_expression() -> None:
    assert list(names_in(parse_expression("f(x, axis = a) + [b, {c}] and not d in 1..e"))) == list("fxabcde")

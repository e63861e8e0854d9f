"""Every code of elaboration has an example that gives exactly it, and every finding says where, what and what next."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import contract_texts as kc
import pytest

import kernel_contracts
from kernel_contracts.contracts import codes
from kernel_contracts.errors import LanguageError
from kernel_contracts.language import lint_codes, parse_codes
from kernel_contracts.language.diagnostics import CODES, errors_page
from kernel_contracts.vocabulary import vocabulary

parse_codes.register_all()
lint_codes.register_all()
CONTRACT_CODES = sorted(c for c in CODES if c[0] in "NTSM")
ROOT = Path(__file__).parents[2]
PACKAGE = Path(kernel_contracts.__file__).parent


def test_the_codes_are_those_of_the_module() -> None:
    assert sorted(code for code, *_ in codes._TABLE) == CONTRACT_CODES
    assert len(CONTRACT_CODES) >= 40


@pytest.mark.parametrize("code", CONTRACT_CODES)
def test_the_example_of_a_code_gives_exactly_it(code: str) -> None:
    with pytest.raises(LanguageError) as caught:
        kc.load(CODES[code].example)
    assert [d.code for d in caught.value.diagnostics] == [code]
    (found,) = caught.value.diagnostics
    lines = CODES[code].example.split("\n")
    assert found.severity == "error"
    assert found.span.file == "example.kc"
    assert found.source == lines[found.span.line - 1]
    assert 1 <= found.span.column <= len(found.source) + 1
    assert found.hint or found.expected or found.found
    shown = str(found)
    assert shown.startswith(f"{code} {found.message}\n  example.kc:{found.span.line}:{found.span.column}\n")
    assert found.source in shown
    assert "^" in shown


def test_the_frame_of_the_examples_is_right() -> None:
    """What is wrong with an example is what its code says, and nothing in the frame around it."""
    assert kc.load(codes._contract())


def test_every_code_raised_in_the_sources_is_registered() -> None:
    used: set[str] = set()
    for path in PACKAGE.rglob("*.py"):
        if path.name == "codes.py":
            continue
        used |= set(re.findall(r'"([NTSM]\d{3})"', path.read_text("utf-8")))
    assert used == set(CONTRACT_CODES)


def test_no_finding_is_built_without_a_next_step() -> None:
    """`problem` fills in a hint where the author of a check gave none."""
    from kernel_contracts.contracts.values import problem
    from kernel_contracts.language.syntax import NOWHERE

    assert problem("T313", NOWHERE, "x").diagnostic.hint == "kc explain T313 shows an example"
    assert problem("T313", NOWHERE, "x", expected="y").diagnostic.hint == ""
    calls = [
        n
        for path in (PACKAGE / "contracts").glob("*.py")
        for n in ast.walk(ast.parse(path.read_text("utf-8")))
        if isinstance(n, ast.Call) and isinstance(n.func, ast.Name) and n.func.id == "diagnose"
    ]
    assert len(calls) == 1, "findings about contracts are made by `problem` alone"


def test_the_reference_page_is_what_the_registry_says() -> None:
    page = (ROOT / "docs" / "reference" / "errors.md").read_text("utf-8")
    assert page == errors_page(), "run make docs"


def test_every_finding_of_a_file_is_reported_in_order() -> None:
    source = kc.text(reference="{ y = expo(x) }") + "\n" + kc.text(name="other", pre="N in 9..3")
    with pytest.raises(LanguageError) as caught:
        kc.load(source)
    assert [d.code for d in caught.value.diagnostics] == ["N205", "T311"]
    assert [d.span.line for d in caught.value.diagnostics] == [7, 13]
    assert len(str(caught.value).split("\n  Next step:")) == 3


def test_m501_looks_at_what_the_class_always_measures() -> None:
    """The same file is right in a class that measures the probe on its own account."""
    shown = "  measure { inputs normal }\n  violation accumulator_narrowed"
    assert kc.wrong(rest=shown, implements="C-PRC-02").code == "M501"
    assert kc.one(rest=shown, implements="C-PRC-01").violation == ("accumulator_narrowed",)


def test_m501_names_an_input_that_would_do() -> None:
    found = kc.wrong(rest="  measure { inputs normal }\n  violation accumulator_narrowed", implements="C-PRC-02")
    assert found.message == "no declared input can show accumulator_narrowed"
    offered = found.hint.removeprefix("add one of: ").split(", ")
    assert all("accumulator_narrowed" in vocabulary().inputs[name] for name in offered)

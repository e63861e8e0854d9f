"""Every code has an example that gives exactly it, and the reference page says what the registry says."""

from __future__ import annotations

from pathlib import Path

import pytest

from kernel_contracts.errors import LanguageError
from kernel_contracts.language import lint_codes, parse_codes
from kernel_contracts.language.diagnostics import (
    CODES,
    PHASES,
    code_section,
    diagnose,
    did_you_mean,
    errors_page,
    nearest,
    one_of,
    register,
)
from kernel_contracts.language.lint import lint
from kernel_contracts.language.parser import parse
from kernel_contracts.language.syntax import NOWHERE

parse_codes.register_all()
lint_codes.register_all()
PARSE = sorted(c for c in CODES if c.startswith("P"))
LINT = sorted(c for c in CODES if c.startswith("L"))
PAGE = Path(__file__).parents[2] / "docs" / "reference" / "errors.md"
NOT_TEXT = {"P126"}
"""The example is bytes that are no text; `test_a_file_on_disk` has them."""


@pytest.mark.parametrize("code", [c for c in PARSE if c not in NOT_TEXT])
def test_the_example_of_a_parse_code_gives_exactly_it(code: str) -> None:
    with pytest.raises(LanguageError) as caught:
        parse(CODES[code].example, "example.kc")
    assert [d.code for d in caught.value.diagnostics] == [code]
    (found,) = caught.value.diagnostics
    assert found.severity == "error"
    assert found.source == CODES[code].example.split("\n")[found.span.line - 1]
    # Every message leads on: by a next step, or by what could stand there.
    assert found.hint or found.expected


@pytest.mark.parametrize("code", LINT)
def test_the_example_of_an_advice_gives_exactly_it(code: str) -> None:
    found = lint(parse(CODES[code].example, "example.kc"))
    assert [d.code for d in found] == [code]
    assert found[0].severity == "warning"
    assert found[0].hint


@pytest.mark.parametrize("code", PARSE + LINT)
def test_a_code_is_explained(code: str) -> None:
    info = CODES[code]
    assert info.title
    assert info.explanation.endswith(".")
    assert bool(info.example) != (code in NOT_TEXT)


def test_the_reference_page_says_what_the_registry_says() -> None:
    page = PAGE.read_text("utf-8")
    for code in PARSE + LINT:
        assert code_section(code) in page, f"{code}: write errors_page() to {PAGE.name} again"
    headings = [line[4:8] for line in page.split("\n") if line.startswith("### ")]
    assert [c for c in headings if c[0] in "PL"] == PARSE + LINT
    assert page.startswith(errors_page().split("\n## ")[0])


def test_every_code_used_in_the_sources_is_registered() -> None:
    import re

    import kernel_contracts.language as package

    root = Path(package.__file__).parent
    used = {c for f in root.glob("*.py") for c in re.findall(r'"([PL]\d{3})"', f.read_text("utf-8"))}
    assert used == set(PARSE + LINT)


def test_registering_twice_is_allowed_only_for_the_same_meaning() -> None:
    info = CODES["P101"]
    register("P101", info.title, info.explanation, info.example)
    with pytest.raises(ValueError, match=r"P101.*already registered"):
        register("P101", "another meaning", info.explanation, info.example)
    for code in ("X101", "P1", "P10a", "P1011"):
        with pytest.raises(ValueError, match="a code is one of"):
            register(code, "t", "e", "")
    assert set(PHASES) == {"P1", "N2", "T3", "S4", "M5", "L6"}


def test_an_unregistered_code_cannot_be_reported() -> None:
    with pytest.raises(KeyError):
        diagnose("P199", NOWHERE)


def test_nearest() -> None:
    names = ["softmax", "matmul", "gelu", "fp16"]
    assert nearest("sofmax", names) == "softmax"
    assert nearest("GELU", names) == "gelu"
    assert nearest("fp61", names) == "fp16"
    assert nearest("attention", names) is None
    assert nearest("x", []) is None
    assert did_you_mean("matmull", names) == "did you mean `matmul`?"
    assert did_you_mean("zzz", ["b", "a"]) == "choose `a` or `b`."
    assert did_you_mean("zzz", []) == ""
    assert one_of(["a"]) == "`a`"
    assert one_of(["a", "b", "c"]) == "`a`, `b` or `c`"

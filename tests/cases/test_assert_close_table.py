"""The derived tolerance beside `assert_close` at its defaults: no right kernel accused, more wrong ones caught."""

from __future__ import annotations

import importlib.util
import sys
from functools import cache
from pathlib import Path
from types import ModuleType

import pytest
from case_draws import DRAWS
from case_harness import CASES

ROOT = Path(__file__).resolve().parents[2]
pytestmark = pytest.mark.torch
pytest.importorskip("torch")


@cache
def benchmark() -> ModuleType:
    before = list(sys.path)
    spec = importlib.util.spec_from_file_location("assert_close_table", ROOT / "benchmarks" / "assert_close_table.py")
    assert spec is not None
    assert spec.loader is not None
    made = importlib.util.module_from_spec(spec)
    sys.modules["assert_close_table"] = made
    try:
        spec.loader.exec_module(made)
    finally:
        sys.path[:] = before
    return made


@cache
def table(draws: int):
    return benchmark().rows(draws, seed=7)


def test_every_case_is_drawn() -> None:
    assert [c.id for c in CASES] == sorted(DRAWS)
    assert len(CASES) * 67 >= 1000


def test_no_sibling_is_accused() -> None:
    assert [r.case.id for r in table(12) if r.derived.accused] == []


def test_draws_add_up() -> None:
    for r in table(12):
        for score in (r.usual, r.derived):
            assert score.caught + score.missed + r.alike == r.draws


def test_more_is_caught() -> None:
    usual, derived = (sum(getattr(r, judge).caught for r in table(12)) for judge in ("usual", "derived"))
    assert derived > 1.1 * usual


def test_faults_that_the_usual_tolerance_never_sees() -> None:
    blind = {r.case.id for r in table(12) if r.usual.caught == 0 and r.derived.caught > 0}
    assert blind >= {"O06", "O22"}


def test_the_page_is_the_table() -> None:
    """Column by column; the numbers depend on the libraries that compute the products."""
    text = (ROOT / "docs" / "assert_close.md").read_text("utf-8")
    listed = [line.split(" | ") for line in text.splitlines() if line.startswith("| O")]
    assert [row[0].strip("| ") for row in listed] == [c.id for c in CASES]
    assert all(row[1] == benchmark().what(c) for row, c in zip(listed, CASES, strict=True))
    assert all(row[-1].strip(" |") == "0" for row in listed)


@pytest.mark.slow
def test_a_thousand_draws_accuse_no_sibling() -> None:
    found = benchmark().rows(67)
    assert sum(r.draws for r in found) >= 1000
    assert sum(r.derived.accused for r in found) == 0

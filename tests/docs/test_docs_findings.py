"""The page of findings shows what the last run recorded, and its exact values are those of the list."""

from __future__ import annotations

import json
from collections.abc import Callable
from types import ModuleType
from typing import Any

import docs_pages
import pytest

FOLDER = docs_pages.REPOSITORY / "benchmarks"


@pytest.fixture(scope="module")
def findings(script: Callable[[str], ModuleType]) -> ModuleType:
    return script("findings")


@pytest.fixture(scope="module")
def rows() -> list[dict[str, Any]]:
    recorded: list[dict[str, Any]] = json.loads((FOLDER / "results" / "findings.json").read_text("utf-8"))
    return recorded


def test_the_page_is_what_was_recorded(findings: ModuleType, rows: list[dict[str, Any]]) -> None:
    assert findings.PAGE.read_text("utf-8") == findings.page(rows)


def test_every_row_is_one_of_the_list_with_its_exact_value(findings: ModuleType, rows: list[dict[str, Any]]) -> None:
    known = {findings.command(k): k for k in findings.KNOWN}
    assert len(known) == len(findings.KNOWN)
    for r in rows:
        one = known[r["command"]]
        assert r["exact"] == findings._number(one.exact()), r["command"]
        assert not r["confirmed"] or r["check"]["signature"] in one.signatures
        assert not r["confirmed"] or r["got"] != r["exact"]

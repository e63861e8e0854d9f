"""What the README states of the code is so. Its counts are written by `make docs`."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from types import ModuleType

import docs_pages

from kernel_contracts.classes import classes
from kernel_contracts.contracts.catalogue import standard_library
from kernel_contracts.stacks.base import stacks
from kernel_contracts.vocabulary import vocabulary

README = (docs_pages.REPOSITORY / "README.md").read_text("utf-8")


def test_all_classes_are_done() -> None:
    done = README.partition("Not done:")[0].partition("Done:")[2]
    assert set(re.findall(r"C-[A-Z]{3}-\d\d", done)) == set(classes())
    assert len(classes()) == 12
    assert "all twelve contract classes" in done


def test_stacks() -> None:
    (listed,) = re.findall(r"^- stacks: (.*)\.$", README, re.MULTILINE)
    names = {name.lower().replace("pytorch", "torch").replace(" ", "") for name in re.split(", | and ", listed)}
    assert names == set(stacks())


def test_the_contract_shown_is_that_of_the_library() -> None:
    (block,) = [b for b in docs_pages.blocks("kc") if b.page.name == "README.md"]
    library = {c.name: c for c in standard_library(vocabulary())}
    assert block.text.strip() == library["gemm-accumulator"].source.strip()


def test_tables_of_verified_products_are_those_of_the_results(script: Callable[[str], ModuleType]) -> None:
    page = (docs_pages.REPOSITORY / "docs" / "howto" / "freivalds.md").read_text("utf-8")
    results = json.loads((docs_pages.REPOSITORY / "benchmarks" / "results" / "freivalds.json").read_text("utf-8"))
    tables = script("freivalds_tables").tables(results)
    assert [table for table in tables if table not in page] == []
    assert f"No honest product of {results['alarms']['products']:,} was accused" in page
    assert results["alarms"]["accused"] == []


def test_every_wrong_number_of_the_large_run_stands() -> None:
    page = (docs_pages.REPOSITORY / "docs" / "howto" / "run.md").read_text("utf-8")
    rows = json.loads((docs_pages.REPOSITORY / "benchmarks" / "results" / "second_opinion.json").read_text("utf-8"))
    numbers = [r for r in rows if r["what"] == "value"]
    assert all(r["stands"] for r in numbers)
    assert {r["what"] for r in rows} == {"value", "no value"}
    assert f"{len(rows)} cells violate" in page
    assert f"{len(numbers)} of these are wrong numbers, and all {len(numbers)} stand" in page

"""Numbers that the README states are those of the code."""

from __future__ import annotations

import re

import docs_pages

from kernel_contracts.classes import classes
from kernel_contracts.contracts.catalogue import standard_library
from kernel_contracts.measurement.inputs.base import families
from kernel_contracts.numerics.mutants import mutants
from kernel_contracts.signatures import signatures
from kernel_contracts.stacks.base import stacks
from kernel_contracts.vocabulary import vocabulary

README = (docs_pages.REPOSITORY / "README.md").read_text("utf-8")


def stated(pattern: str) -> list[int]:
    """The whole numbers in the one place that matches."""
    (found,) = re.findall(pattern, " ".join(README.split()))
    return [int(n) for n in (found if isinstance(found, tuple) else (found,))]


def test_contracts_and_operations() -> None:
    library = standard_library(vocabulary())
    assert stated(r"(\d+) contracts for (\d+) operations") == [len(library), len({c.operation for c in library})]


def test_inputs_mutants_signatures() -> None:
    counts = [len(families()), len(mutants()), len(signatures())]
    assert stated(r"(\d+) input families and probes, (\d+) kinds of mutants, (\d+) signatures") == counts


def test_classes_done_and_not_done() -> None:
    done, _, rest = README.partition("Not done:")
    assert set(re.findall(r"C-[A-Z]{3}-\d\d", done.partition("Done:")[2])) == set(classes())
    assert 12 - len(classes()) == 6
    assert "the other six of the twelve classes" in rest


def test_stacks() -> None:
    (listed,) = re.findall(r"^- stacks: (.*)\.$", README, re.MULTILINE)
    assert {name.lower().replace("pytorch", "torch") for name in listed.split(" and ")} == set(stacks())


def test_the_contract_shown_is_that_of_the_library() -> None:
    (block,) = [b for b in docs_pages.blocks("kc") if b.page.name == "README.md"]
    library = {c.name: c for c in standard_library(vocabulary())}
    assert block.text.strip() == library["gemm-accumulator"].source.strip()

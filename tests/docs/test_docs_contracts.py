"""Every contract in the documentation is one: it parses, it is elaborated, and whole files stand in their one form."""

from __future__ import annotations

import docs_pages
import pytest

from kernel_contracts.contracts.catalogue import load_text
from kernel_contracts.errors import LanguageError
from kernel_contracts.language.parser import parse
from kernel_contracts.language.printer import format_source
from kernel_contracts.vocabulary import vocabulary

BLOCKS = docs_pages.blocks("kc")
each_block = pytest.mark.parametrize("block", BLOCKS, ids=str)


def test_the_documentation_shows_contracts() -> None:
    assert len(BLOCKS) >= 20


@each_block
def test_a_contract_is_elaborated(block: docs_pages.Block) -> None:
    text = docs_pages.contract_text(block)
    found = load_text(text, str(docs_pages.REPOSITORY / "docs" / "example.kc"), vocabulary())
    assert len(found) == text.count(" implements ")


@pytest.mark.parametrize("block", [b for b in BLOCKS if b.rest != "fragment"], ids=str)
def test_a_whole_file_stands_in_its_one_form(block: docs_pages.Block) -> None:
    assert format_source(block.text) == block.text


def test_the_check_can_fail() -> None:
    broken = docs_pages.Block(docs_pages.PAGES[0], 1, "kc", "fragment", "post z within tolerance of reference\n")
    with pytest.raises(LanguageError):
        load_text(docs_pages.contract_text(broken), "example.kc", vocabulary())


def test_a_fragment_replaces_the_clause_it_shows() -> None:
    block = docs_pages.Block(docs_pages.PAGES[0], 1, "kc", "fragment", "tolerance absolute 1e-3\npost y unchanged\n")
    (contract,) = parse(docs_pages.contract_text(block), "example.kc").items
    text = docs_pages.contract_text(block)
    assert "tolerance derived" not in text
    assert "absolute 1e-3" in text
    assert contract is not None

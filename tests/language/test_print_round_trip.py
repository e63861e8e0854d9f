"""Printing and parsing are inverse to each other, on random trees and on the sketches of the language."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from language_trees import contracts, defines, expressions, files, guarantees, tolerances

from kernel_contracts.errors import LanguageError
from kernel_contracts.language import syntax as s
from kernel_contracts.language.parser import parse, parse_expression
from kernel_contracts.language.printer import format_source, print_file, print_node
from kernel_contracts.language.transform import clean_doc

SKETCHES = (Path(__file__).parent / "sketches.kc").read_text("utf-8")
quick = settings(max_examples=25, deadline=None, suppress_health_check=list(HealthCheck))


def cleaned(file: s.File) -> s.File:
    """Docstrings of random trees brought into the form in which the parser keeps them."""
    items = (replace(i, doc=clean_doc(i.doc)) if isinstance(i, s.Contract) else i for i in file.items)
    return replace(file, items=tuple(items))


@quick
@given(expressions)
def test_an_expression_reads_back_as_itself(tree: s.Expr) -> None:
    assert parse_expression(print_node(tree)) == tree


@quick
@given(files)
def test_a_file_reads_back_as_itself(tree: s.File) -> None:
    tree = cleaned(tree)
    assert parse(print_file(tree)) == tree


@quick
@given(files)
def test_formatting_the_canonical_text_changes_nothing(tree: s.File) -> None:
    text = print_file(cleaned(tree))
    assert format_source(text) == text


@quick
@given(contracts, guarantees, tolerances)
def test_a_part_prints_as_it_does_in_its_contract(tree: s.Contract, post: s.Guarantee, bound: s.Tolerance) -> None:
    tree = replace(tree, doc="", post=(post,), tolerance=bound)
    (again,) = parse(print_node(tree)).items
    assert again == tree
    assert print_node(again.post[0]) == print_node(post)
    assert print_node(again.tolerance) == print_node(bound)


@quick
@given(expressions)
def test_brackets_are_minimal(tree: s.Expr) -> None:
    """Removing any one pair of brackets around an operand changes the tree or breaks the text."""
    text = print_node(tree)
    for start, end in bracket_pairs(text):
        if start and (text[start - 1].isalnum() or text[start - 1] == "_"):
            continue  # the brackets of a call
        bare = f"{text[:start]} {text[start + 1 : end]} {text[end + 1 :]}"
        try:
            other = parse_expression(bare)
        except LanguageError:
            continue
        assert other != tree


def bracket_pairs(text: str) -> list[tuple[int, int]]:
    """The places of matching round brackets outside of strings."""
    stack: list[int] = []
    pairs: list[tuple[int, int]] = []
    quoted = escaped = False
    for i, c in enumerate(text):
        if quoted:
            quoted, escaped = (c != '"' or escaped), c == "\\" and not escaped
        elif c == '"':
            quoted = True
        elif c == "(":
            stack.append(i)
        elif c == ")":
            pairs.append((stack.pop(), i))
    return pairs


@quick
@given(defines)
def test_a_definition_reads_back_as_itself(tree: s.Define) -> None:
    assert parse(print_node(tree)).items == (tree,)


def test_the_sketches_read_back_as_themselves() -> None:
    tree = parse(SKETCHES)
    assert len(tree.items) > 20
    assert parse(print_file(tree)) == tree


def test_the_sketches_are_canonical() -> None:
    assert format_source(SKETCHES) == SKETCHES


@pytest.mark.parametrize("width", [1, 7])
def test_layout_carries_no_meaning(width: int) -> None:
    """The same words on other lines give the same tree, but for the one rule of `measure`."""
    tree = parse(SKETCHES)
    loose = SKETCHES.replace(" in fp32\n", f"\n{' ' * width}in fp32\n\n").replace("  post  ", "  post\n")
    assert loose != SKETCHES
    assert parse(loose) == tree

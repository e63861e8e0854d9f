"""A file in a plug-in folder adds one thing, under its own name, and says what it is."""

from __future__ import annotations

import importlib
from dataclasses import dataclass
from typing import Any

import house
import pytest


@dataclass(frozen=True, slots=True)
class Folder:
    """One place where adding a file is all that there is to do."""

    package: str
    entry: str
    helpers: tuple[str, ...]
    """Files that add nothing. This list may only shrink."""
    named: bool = False
    """A file bears the name of what it adds."""


FOLDERS = (
    Folder("classes", "CLASS", ("base", "judging", "policies")),
    Folder("signatures", "RULE", ("base", "flushing"), named=True),
    Folder("stacks", "STACK", ("base", "conformance", "__main__"), named=True),
    Folder("oracles", "ORACLE", ()),
    Folder("numerics/operators", "OPERATORS", ("base",)),
    Folder("numerics/mutants", "MUTANTS", ("base",)),
    Folder("measurement/experiments", "EXPERIMENT", ("base",), named=True),
    Folder("measurement/faults", "FAULT", ("base", "rewriting")),
    Folder("measurement/inputs", "FAMILY", ("base", "operands"), named=True),
    Folder("casebook/cases", "CASE", ()),
    Folder("casebook/controls", "CONTROLS", ()),
)


def stems(folder: Folder) -> list[str]:
    found = sorted(p.stem for p in (house.PACKAGE / folder.package).glob("*.py") if p.stem != "__init__")
    assert found, f"{folder.package} is empty"
    return found


def entries(folder: Folder) -> dict[str, Any]:
    """Every entry by file."""
    dotted = f"{house.NAME}.{folder.package.replace('/', '.')}"
    return {
        s: getattr(importlib.import_module(f"{dotted}.{s}"), folder.entry, None)
        for s in stems(folder)
        if s not in folder.helpers
    }


def single(folder: Folder) -> list[Any]:
    """Entries one by one, also where a file holds several."""
    values = entries(folder).values()
    return [one for v in values for one in (v if isinstance(v, tuple | list) else (v,))]


SPEECHLESS = ("stacks", "oracles", "numerics/operators", "casebook/cases", "casebook/controls")
"""Documented elsewhere: stacks, oracles, cases and controls in their files, operators as functions of the language."""

folders = pytest.mark.parametrize("folder", FOLDERS, ids=lambda f: f.package)


@folders
def test_every_file_defines_its_entry(folder: Folder) -> None:
    assert [stem for stem, entry in entries(folder).items() if entry is None] == []


@folders
def test_every_helper_exists_and_adds_nothing(folder: Folder) -> None:
    assert set(folder.helpers) <= set(stems(folder))
    for helper in folder.helpers:
        text = (house.PACKAGE / folder.package / f"{helper}.py").read_text("utf-8")
        assert f"\n{folder.entry} =" not in text, f"{helper} defines {folder.entry}: take it off the list of helpers"


@folders
def test_names_are_unique(folder: Folder) -> None:
    names = [getattr(one, "id", None) or one.name for one in single(folder)]
    assert sorted(names) == sorted(set(names))


@pytest.mark.parametrize("folder", [f for f in FOLDERS if f.named], ids=lambda f: f.package)
def test_a_file_bears_the_name_of_what_it_adds(folder: Folder) -> None:
    assert [(stem, e.name) for stem, e in entries(folder).items() if e.name != stem] == []


@pytest.mark.parametrize(
    "folder",
    [f for f in FOLDERS if f.package not in SPEECHLESS],
    ids=lambda f: f.package,
)
def test_every_entry_says_what_it_is(folder: Folder) -> None:
    docs = {
        getattr(o, "id", None) or o.name: getattr(o, "claim", None) or getattr(o, "doc", o.__doc__)
        for o in single(folder)
    }
    assert [name for name, doc in docs.items() if not doc.strip()] == []


def test_every_mutant_and_class_names_what_exists() -> None:
    """A mutant stands for a signature, a class asks for mutants and inputs that there are."""
    by_package = {f.package: {getattr(o, "id", None) or o.name: o for o in single(f)} for f in FOLDERS}
    mutants, signatures = by_package["numerics/mutants"], by_package["signatures"]
    assert {m.signature for m in mutants.values()} - set(signatures) == set()
    for klass in by_package["classes"].values():
        assert set(klass.mutants) - set(mutants) == set(), klass.id
        assert {item.name for item in klass.extra_inputs} - set(by_package["measurement/inputs"]) == set(), klass.id


UNRECOGNIZED: set[str] = set()
"""Defects that an input can show and that no rule names yet. This list may only shrink."""


def test_every_input_shows_signatures_that_exist() -> None:
    by_package = {f.package: single(f) for f in FOLDERS}
    shown = {name for family in by_package["measurement/inputs"] for name in family.shows}
    assert shown - {s.name for s in by_package["signatures"]} == UNRECOGNIZED

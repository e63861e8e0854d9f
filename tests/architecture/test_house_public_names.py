"""One public door: what the root lists is what it gives, and nothing else is meant to be used."""

from __future__ import annotations

import ast
import inspect
import subprocess
import sys

import house

import kernel_contracts

AT_MOST = 15


def test_the_root_gives_what_it_lists() -> None:
    assert kernel_contracts.__all__ == sorted(set(kernel_contracts.__all__), key=kernel_contracts.__all__.index)
    missing = [name for name in kernel_contracts.__all__ if not hasattr(kernel_contracts, name)]
    assert missing == []
    listed = set(dir(kernel_contracts))
    assert set(kernel_contracts.__all__) <= listed


def test_the_public_names_are_few() -> None:
    assert 0 < len(kernel_contracts.__all__) <= AT_MOST


def test_every_public_name_reports_the_root_as_its_home() -> None:
    strangers = []
    for name in kernel_contracts.__all__:
        value = getattr(kernel_contracts, name)
        if (inspect.isclass(value) or callable(value)) and value.__module__ != house.NAME:
            strangers.append(f"{name}: {value.__module__}")
    assert strangers == []


def test_every_public_name_is_documented() -> None:
    bare = [
        n for n in kernel_contracts.__all__ if callable(v := getattr(kernel_contracts, n)) and not inspect.getdoc(v)
    ]
    assert bare == []


def test_a_star_import_brings_the_public_names_alone() -> None:
    code = "from kernel_contracts import *\nprint(sorted(n for n in dir() if not n.startswith('__')))"
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True)
    assert ast.literal_eval(ran.stdout) == sorted(n for n in kernel_contracts.__all__ if not n.startswith("__"))


def test_an_unknown_name_is_an_attribute_error() -> None:
    assert not hasattr(kernel_contracts, "no_such_name")


def test_no_name_of_a_package_is_that_of_a_part_of_it() -> None:
    """Importing the part would put the module in the place of the name, whoever imports it first."""
    clashes = []
    for init in house.PACKAGE.rglob("__init__.py"):
        parts = {p.stem for p in init.parent.iterdir() if p.suffix == ".py" or (p / "__init__.py").is_file()}
        for node in ast.parse(init.read_text("utf-8")).body:
            names = {node.name} if isinstance(node, ast.FunctionDef | ast.ClassDef) else set()
            if isinstance(node, ast.ImportFrom):
                names = {a.asname or a.name for a in node.names}
            clashes += [f"{init.parent.name}.{n}" for n in names & parts]
    assert clashes == []

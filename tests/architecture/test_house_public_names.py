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

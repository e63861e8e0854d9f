"""Importing the package, and asking for help, stays light: no framework, no parser, no array library."""

from __future__ import annotations

import subprocess
import sys

import pytest

HEAVY = (
    "torch",
    "jax",
    "tensorflow",
    "numpy",
    "ml_dtypes",
    "lark",
    "rich",
    "typer",
    "click",
    "flint",
    "hypothesis",
    "pytest",
)
ARRAYS = ("torch", "jax", "tensorflow", "numpy", "ml_dtypes", "flint")

HELP = """
import contextlib, io
from kernel_contracts.cli import main
sys.argv = ["kc", "--help"]
with contextlib.suppress(SystemExit), contextlib.redirect_stdout(io.StringIO()) as shown:
    main()
assert "check" in shown.getvalue()
"""


def loaded(code: str, names: tuple[str, ...]) -> list[str]:
    """Which of `names` a fresh interpreter has loaded after `code`."""
    script = f"import sys\n{code}\nsys.stdout.write(' '.join(n for n in {names!r} if n in sys.modules))"
    ran = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=60, check=False)
    assert ran.returncode == 0, ran.stderr
    return ran.stdout.split()


def test_importing_the_package_loads_nothing_heavy() -> None:
    assert loaded("import kernel_contracts", HEAVY) == []


def test_help_loads_no_array_library() -> None:
    assert loaded(HELP, ARRAYS) == []


def test_the_pytest_plugin_loads_no_array_library() -> None:
    assert loaded("import kernel_contracts.pytest_plugin", ARRAYS) == []


@pytest.mark.parametrize("stack", ["numpy", "torch"])
def test_a_stack_is_known_before_its_library_is_loaded(stack: str) -> None:
    code = f"from kernel_contracts.stacks.base import stacks\nassert {stack!r} in stacks()"
    assert "torch" not in loaded(code, ("torch",))


def test_the_check_can_fail() -> None:
    assert loaded("import numpy", HEAVY) == ["numpy"]

"""What tests of several folders share."""

from __future__ import annotations

import gc
import importlib
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import pytest

from kernel_contracts.heap import keep_freed_memory

BENCHMARKS = Path(__file__).parents[1] / "benchmarks"

keep_freed_memory()


def pytest_collection_finish() -> None:
    """The tests themselves, thousands of them, stay to the end: the collector of garbage need not look at them."""
    gc.collect()
    gc.freeze()


@pytest.fixture(scope="session")
def script() -> Callable[[str], ModuleType]:
    """Imports a program of `benchmarks/` by its name, as it is when it is run: those beside it can be imported too."""

    def imported(name: str) -> ModuleType:
        sys.path.insert(0, str(BENCHMARKS))
        try:
            return importlib.import_module(name)
        finally:
            sys.path.remove(str(BENCHMARKS))

    return imported

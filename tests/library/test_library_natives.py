"""Real kernels are not accused: each stack's own operations, and emulated ones, conform to the whole library."""

from __future__ import annotations

import importlib
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from library_harness import WORK, complaint, in_process, label, measure

from kernel_contracts.contracts.catalogue import standard_library
from kernel_contracts.contracts.model import Contract
from kernel_contracts.measurement.emulated import Emulated
from kernel_contracts.measurement.faults.index import conforming
from kernel_contracts.stacks.natives import natives
from kernel_contracts.states import steady
from kernel_contracts.vocabulary import vocabulary

STACKS = ["numpy", pytest.param("torch", marks=pytest.mark.torch)]
CONTRACTS = [pytest.param(c, id=c.name) for c in standard_library(vocabulary())]
SAMPLES = 5


def native(stack: str, operation: str) -> Callable[..., Any]:
    module, _, name = natives(stack)[operation].partition(":")
    found: Callable[..., Any] = getattr(importlib.import_module(module), name)
    return found


@pytest.mark.parametrize("stack", STACKS)
def test_a_stack_has_every_operation_and_nothing_else(stack: str) -> None:
    assert set(natives(stack)) == {c.operation for c in standard_library(vocabulary())}


def test_an_unknown_stack_has_no_natives() -> None:
    assert natives("abacus") == {}
    assert natives("../numpy") == {}


def test_naming_the_natives_imports_no_framework() -> None:
    code = "import sys, kernel_contracts.stacks.natives as n; n.natives('torch'); print('torch' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"


@pytest.mark.parametrize("stack", STACKS)
@pytest.mark.parametrize("contract", CONTRACTS)
def test_a_native_conforms(contract: Contract, stack: str, tmp_path: Path) -> None:
    if stack == "torch":
        pytest.importorskip("torch")
    kernel = in_process(contract, stack, native(stack, contract.operation), tmp_path)
    for bound in contract.bound:
        found = measure(contract, bound, kernel, SAMPLES, seed=11)
        assert found, f"nothing was measured for {label(bound)}"
        assert [c for c in map(complaint, found) if c] == [], label(bound)


@pytest.mark.parametrize("contract", CONTRACTS)
def test_any_conforming_execution_conforms(contract: Contract) -> None:
    for bound in contract.bound:
        kernel = conforming(contract, bound, Emulated(contract, bound, seed=5, steady=steady(contract, bound)))
        found = measure(contract, bound, kernel, SAMPLES, seed=12, limit=WORK // 4)
        assert [c for c in map(complaint, found) if c] == [], label(bound)

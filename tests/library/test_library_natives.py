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
FINDS = {
    "all-reduce-max-nan": ("fp64", "fp32", "fp16", "bf16"),
    "cast-fp8-e4m3fn-overflow": ("plain",),
    "erf-near-zero": ("bf16",),
    "gelu-alone": ("fp64", "fp32"),
    "silu-alone": ("fp64", "fp32"),
    "sqrt-nearest": ("fp32",),
}
"""Contracts that PyTorch 2.13 breaks on a processor, in these formats: docs/findings.md says how, with exact values."""
SURE = [("all-reduce-max-nan", "fp32"), ("cast-fp8-e4m3fn-overflow", "plain"), ("erf-near-zero", "bf16"),
        ("gelu-alone", "fp32"), ("sqrt-nearest", "fp32")]  # fmt: skip
"""Those of them that any few samples show."""


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
        if stack == "torch" and label(bound) in FINDS.get(contract.name, ()):
            continue
        found = measure(contract, bound, kernel, SAMPLES, seed=11)
        assert found, f"nothing was measured for {label(bound)}"
        assert [c for c in map(complaint, found) if c] == [], label(bound)


@pytest.mark.torch
@pytest.mark.parametrize(("name", "dtype"), SURE)
def test_a_find_is_found(name: str, dtype: str, tmp_path: Path) -> None:
    pytest.importorskip("torch")
    contract = next(c for c in standard_library(vocabulary()) if c.name == name)
    (bound,) = [b for b in contract.bound if label(b) == dtype]
    kernel = in_process(contract, "torch", native("torch", contract.operation), tmp_path)
    assert any(map(complaint, measure(contract, bound, kernel, 24, seed=11)))


@pytest.mark.parametrize("contract", CONTRACTS)
def test_any_conforming_execution_conforms(contract: Contract) -> None:
    for bound in contract.bound:
        kernel = conforming(contract, bound, Emulated(contract, bound, seed=5, steady=steady(contract, bound)))
        found = measure(contract, bound, kernel, SAMPLES, seed=12, limit=WORK // 4)
        assert [c for c in map(complaint, found) if c] == [], label(bound)

"""The examples do what they say: the good ones conform, the bad ones pass an ordinary test and violate."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from library_harness import InProcess, find_contract, verdict

from kernel_contracts.contracts.catalogue import load_file
from kernel_contracts.contracts.evidence import Verdict
from kernel_contracts.measurement.emulated import Emulated
from kernel_contracts.vocabulary import vocabulary

EXAMPLES = Path(__file__).parents[2] / "examples"


def kernel(file: str, function: str) -> Callable[..., Any]:
    spec = importlib.util.spec_from_file_location(f"example_{file}", EXAMPLES / f"{file}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    found: Callable[..., Any] = getattr(module, function)
    return found


def verdicts(file: str, operation: str, class_id: str) -> dict[str, Verdict]:
    """For each dtype that NumPy offers, the verdict on the operation's contract of one class."""
    contract = find_contract(operation, class_id)
    run = InProcess("numpy", kernel(file, operation))
    bounds = [b for b in contract.bound if b.dtypes["P"] in ("fp32", "fp16")]
    return {b.dtypes["P"]: verdict(contract, b, run, 16, seed=3) for b in bounds}


@pytest.mark.parametrize(
    ("file", "operation", "class_id"),
    [
        ("good_softmax", "softmax", "C-PRC-01"),
        ("good_softmax", "softmax", "C-PRC-02"),
        ("good_matmul", "matmul", "C-PRC-01"),
    ],
)
def test_a_good_example_conforms(file: str, operation: str, class_id: str) -> None:
    assert set(verdicts(file, operation, class_id).values()) == {Verdict.CONFORMS}


@pytest.mark.parametrize(
    ("file", "operation", "class_id"),
    [
        ("bad_softmax", "softmax", "C-PRC-02"),
        ("bad_matmul", "matmul", "C-PRC-01"),
        ("layernorm_one_pass", "layernorm", "C-PRC-02"),
    ],
)
def test_a_bad_example_violates(file: str, operation: str, class_id: str) -> None:
    assert set(verdicts(file, operation, class_id).values()) == {Verdict.VIOLATES}


def test_the_bad_examples_pass_an_ordinary_test() -> None:
    rng = np.random.default_rng(0)
    x = rng.standard_normal((128, 1024)).astype(np.float32)
    e = np.exp(x.astype(np.float64))
    y = kernel("bad_softmax", "softmax")(x)
    np.testing.assert_allclose(y, e / e.sum(-1, keepdims=True), rtol=1.3e-6, atol=1e-5)
    a, b = (rng.standard_normal((64, 64)).astype(np.float16) for _ in range(2))
    exact = a.astype(np.float64) @ b.astype(np.float64)
    np.testing.assert_allclose(kernel("bad_matmul", "matmul")(a, b), exact, rtol=1e-2, atol=1e-2)
    d = x.astype(np.float64)
    normal = (d - d.mean(-1, keepdims=True)) / np.sqrt(d.var(-1, keepdims=True) + 1e-5)
    one, zero = np.ones(1024, np.float32), np.zeros(1024, np.float32)
    y = kernel("layernorm_one_pass", "layernorm")(x, one, zero)
    np.testing.assert_allclose(y, normal, rtol=1.3e-6, atol=1e-5)


def test_the_first_contract_tells_a_rounded_branch_from_a_good_kernel() -> None:
    (contract,) = load_file(EXAMPLES / "my_kernel.kc", vocabulary())

    def rounded(x: np.ndarray, branch: np.ndarray, *, scale: float) -> np.ndarray:
        return x + (np.float32(scale) * branch).astype(np.float16).astype(x.dtype)

    for bound in contract.bound:
        assert verdict(contract, bound, Emulated(contract, bound, seed=1), 12, seed=4) is Verdict.CONFORMS
        assert verdict(contract, bound, InProcess("numpy", rounded), 12, seed=4) is Verdict.VIOLATES

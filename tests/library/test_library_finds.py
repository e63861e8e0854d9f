"""Real kernels that the library tells apart from their sibling: same operation, same inputs, another formula."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from library_harness import InProcess, find_contract, verdict

from kernel_contracts.contracts.evidence import Verdict

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.torch


def of(operation: str, class_id: str, dtype: str, function: Callable[..., Any], stack: str = "torch") -> Verdict:
    contract = find_contract(operation, class_id)
    (bound,) = [b for b in contract.bound if b.dtypes.get("P", dtype) == dtype]
    return verdict(contract, bound, InProcess(stack, function), 24, seed=8)


def test_distances_by_a_matrix_product_lose_close_points() -> None:
    """PyTorch's default for more than 25 points expands the square; at an offset of 1000 it is 30% off."""
    assert of("cdist", "C-PRC-02", "fp32", torch.cdist) is Verdict.VIOLATES


@pytest.mark.parametrize("dtype", ["fp16", "bf16"])
def test_a_log_softmax_that_rounds_its_sum_is_found(dtype: str) -> None:
    """On a processor PyTorch 2.13 rounds log(sum) to the format of the input before it is subtracted."""

    def rounded(x: Any) -> Any:
        d = (x - x.amax(-1, keepdim=True)).float()
        return (d - d.exp().sum(-1, keepdim=True).log().to(x.dtype).float()).to(x.dtype)

    assert of("log_softmax", "C-PRC-02", dtype, rounded) is Verdict.VIOLATES


def test_one_plus_tanh_loses_the_negative_tail() -> None:
    """GELU as 0.5 x (1 + erf): right to 1e-7 absolutely, and nothing of it is left at -6."""
    function = lambda x: torch.nn.functional.gelu(x)  # noqa: E731
    assert of("gelu_stable", "C-PRC-02", "fp32", function) is Verdict.VIOLATES
    assert of("gelu", "C-CMP-01", "fp32", function) is Verdict.CONFORMS


def test_the_tanh_form_is_another_function() -> None:
    function = lambda x: torch.nn.functional.gelu(x, approximate="tanh")  # noqa: E731
    assert of("gelu", "C-CMP-01", "fp32", function) is Verdict.VIOLATES
    assert of("gelu_tanh", "C-CMP-01", "fp32", function) is Verdict.CONFORMS


def test_a_cast_there_and_back_that_was_removed_is_found() -> None:
    assert of("cast_chain", "C-CMP-01", "fp32", lambda x: x.copy(), "numpy") is Verdict.VIOLATES


def test_a_weight_that_is_added_to_one_in_bf16_is_found() -> None:
    def offset(x: Any, w: Any, *, eps: float) -> Any:
        factor = (1 + w).float()
        return torch.nn.functional.rms_norm(x.float(), x.shape[-1:], factor, eps).to(x.dtype)

    assert of("rmsnorm_offset", "C-CMP-01", "bf16", offset) is Verdict.VIOLATES


def test_a_factor_of_each_row_that_scales_columns_is_found() -> None:
    def columns(x: np.ndarray, gamma: np.ndarray, *, eps: float) -> np.ndarray:
        d = x - x.mean(-1, keepdims=True)
        wrong = np.resize(gamma.ravel(), x.shape[-1])
        return (d / np.sqrt((d * d).mean(-1, keepdims=True) + eps) * wrong).astype(x.dtype)

    assert of("normalized_scale", "C-CMP-01", "fp32", columns, "numpy") is Verdict.VIOLATES

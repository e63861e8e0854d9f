"""What the contracts of sorting, pooling and gradients tell apart, shown on real kernels and on known faults."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from library_harness import InProcess, find_contract, verdict

from kernel_contracts.contracts.evidence import Verdict
from kernel_contracts.measurement.emulated import Emulated
from kernel_contracts.measurement.functional import passes


def of(operation: str, class_id: str, dtype: str, function: Callable[..., Any], stack: str = "numpy") -> Verdict:
    contract = find_contract(operation, class_id)
    (bound,) = [b for b in contract.bound if b.dtypes["P"] == dtype]
    return verdict(contract, bound, InProcess(stack, function), 12, seed=8)


def partitioned(x: np.ndarray, *, k: int) -> tuple[np.ndarray, np.ndarray]:
    """The k largest by partition, then in order: of equals whichever it left in front."""
    found = np.argpartition(-x, k - 1, axis=-1)[..., :k]
    order = np.argsort(-np.take_along_axis(x, found, -1), axis=-1)
    index = np.take_along_axis(found, order, -1)
    return np.take_along_axis(x, index, -1), index.astype(np.int64)


def test_a_selection_that_leaves_ties_open_is_right_but_for_the_stated_order() -> None:
    assert of("topk", "C-CMP-03", "fp32", partitioned) is Verdict.CONFORMS
    assert of("topk", "C-ORD-02", "fp32", partitioned) is Verdict.VIOLATES


def test_an_index_that_is_named_twice_is_found() -> None:
    def doubled(x: np.ndarray, *, k: int) -> tuple[np.ndarray, np.ndarray]:
        y, index = partitioned(x, k=k)
        for j in range(1, k):  # the first of equals stands for all of them
            index[..., j] = np.where(y[..., j] == y[..., j - 1], index[..., j - 1], index[..., j])
        return y, index

    assert of("topk", "C-CMP-03", "fp32", doubled) is Verdict.VIOLATES


@pytest.mark.parametrize("dtype", ["bf16", "fp32"])
def test_an_ordinary_test_of_indices_admits_any_of_equals(dtype: str) -> None:
    contract = find_contract("topk", "C-CMP-03")
    (bound,) = [b for b in contract.bound if b.dtypes["P"] == dtype]
    assert passes(contract, bound, Emulated(contract, bound, seed=3), 1)


def scatter_windows(x: np.ndarray, g: np.ndarray, window: int, stride: int, start: int) -> np.ndarray:
    """Pooling by comparison: `start` is the index that a window begins with, its first element or none."""
    out = np.zeros_like(x)
    for c, w in np.ndindex(*g.shape):
        best, at = -np.inf, w * stride if start == 0 else -1
        for i in range(w * stride, w * stride + window):
            if x[c, i] > best or np.isnan(x[c, i]):
                best, at = x[c, i], i
        out[c, at] += g[c, w]
    return out


def test_a_window_of_minus_infinity_keeps_its_gradient() -> None:
    """https://github.com/pytorch/pytorch/pull/1465: an index of -1 that no comparison replaced."""

    def right(x: np.ndarray, g: np.ndarray, *, window: int, stride: int) -> np.ndarray:
        return scatter_windows(x, g, window, stride, 0)

    def wrong(x: np.ndarray, g: np.ndarray, *, window: int, stride: int) -> np.ndarray:
        return scatter_windows(x, g, window, stride, -1)

    x, g = np.array([[-np.inf, -np.inf, 1.0, 2.0]], np.float32), np.array([[5.0, 7.0]], np.float32)
    assert right(x, g, window=2, stride=2).tolist() == [[5, 0, 0, 7]]
    assert wrong(x, g, window=2, stride=2).tolist() == [[0, 0, 0, 12]]
    for kernel, expected in ((right, Verdict.CONFORMS), (wrong, Verdict.VIOLATES)):
        assert of("max_pool_backward", "C-EXC-01", "fp32", kernel) is expected
    assert of("max_pool_backward", "C-CMP-03", "fp32", wrong) is Verdict.CONFORMS


def test_numpy_does_not_sort_bf16_that_holds_nan() -> None:
    """The comparison that ml_dtypes registers puts NaN nowhere, so the numbers around it stay out of order."""

    def plain(x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        index = np.argsort(x, axis=-1, kind="stable")
        return np.take_along_axis(x, index, -1), index.astype(np.int64)

    assert of("sort", "C-EXC-01", "bf16", plain) is Verdict.VIOLATES
    assert of("sort", "C-EXC-01", "fp32", plain) is Verdict.CONFORMS


# --------------------------------------------------------------------------------------------------- finds in PyTorch


@pytest.mark.torch
def test_topk_of_pytorch_leaves_ties_open() -> None:
    torch = pytest.importorskip("torch")

    def topk(x: Any, *, k: int) -> Any:
        found = torch.topk(x, k, dim=-1)
        return found.values, found.indices

    assert of("topk", "C-CMP-03", "fp32", topk, "torch") is Verdict.CONFORMS
    assert of("topk", "C-ORD-02", "fp32", topk, "torch") is Verdict.VIOLATES


@pytest.mark.torch
@pytest.mark.parametrize("dtype", ["fp16", "bf16"])
def test_gradients_of_a_layer_norm_that_keeps_its_mean_in_few_bits_are_found(dtype: str) -> None:
    """On a processor PyTorch 2.13 keeps mean and spread of a row in the format of its input for the backward pass."""
    torch = pytest.importorskip("torch")

    def backward(x: Any, gamma: Any, g: Any, *, eps: float) -> Any:
        leaves = [t.detach().requires_grad_() for t in (x, gamma, torch.zeros_like(gamma))]
        y = torch.nn.functional.layer_norm(leaves[0], x.shape[-1:], leaves[1], leaves[2], eps)
        return tuple(torch.autograd.grad(y, leaves, g))

    assert of("layernorm_backward", "C-PRC-02", dtype, backward, "torch") is Verdict.VIOLATES
    kind = {"fp16": torch.float16, "bf16": torch.bfloat16}[dtype]
    torch.manual_seed(0)
    x, g = (torch.randn(4, 64) + 30).to(kind), torch.randn(4, 64).to(kind)
    ones = torch.ones(64, dtype=kind)
    got = backward(x, ones, g, eps=1e-5)[0].double().numpy()
    v, h = x.double().numpy(), g.double().numpy()  # the formula in float64, on the very same numbers
    d = v - v.mean(-1, keepdims=True)
    r = 1 / np.sqrt((d * d).mean(-1, keepdims=True) + 1e-5)
    n = d * r
    exact = r * (h - h.mean(-1, keepdims=True) - n * (h * n).mean(-1, keepdims=True))
    assert np.abs(got - exact).max() > 8 * 2.0 ** -(11 if dtype == "fp16" else 8) * np.abs(exact).max() / 8

"""Reports that are not faults: what looks like one stays unflagged, and so does what it was compared with."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from case_harness import CONTRACTS, check, conforms, not_faults
from case_inputs import BF16

from kernel_contracts.assertions import AssertOptions, ConformanceError, assert_conforms
from kernel_contracts.contracts.evidence import Verdict

pytestmark = pytest.mark.filterwarnings("ignore::RuntimeWarning")
QUIET = AssertOptions(witness=False)


def contract(name: str) -> str:
    return str(CONTRACTS / f"{name}.kc")


def kernel(name: str) -> Any:
    return getattr(not_faults(), name)


def test_a_fused_gelu_that_rounds_once() -> None:
    conforms(check(kernel("linear_gelu_fused"), contract=contract("linear_gelu_tanh"), dtypes=("fp16", "bf16"), seed=5))


def test_the_fused_gelu_is_closer_to_the_truth_than_the_unfused_one() -> None:
    rng = np.random.default_rng(0)
    x, w, b = (rng.standard_normal(shape) for shape in ((64, 256), (128, 256), (128,)))
    x, w, b = x.astype(BF16), (w / 16).astype(BF16), b.astype(BF16)
    exact = kernel("gelu_tanh")(x.astype(np.float64) @ w.astype(np.float64).T + b.astype(np.float64))
    error = lambda name: np.abs(kernel(name)(x, w, b).astype(np.float64) - exact).mean()  # noqa: E731
    assert error("linear_gelu_fused") < 0.8 * error("linear_gelu_unfused")


def test_the_erf_form_is_flagged_where_the_tanh_form_is_claimed() -> None:
    (result,) = check(kernel("linear_gelu_erf"), contract=contract("linear_gelu_tanh"), dtypes=("fp32",), seed=5)
    assert result.verdict is Verdict.VIOLATES


@pytest.mark.parametrize("name", ["batchnorm_folded", "batchnorm_in_sequence"])
@pytest.mark.parametrize("seed", [1, 2, 3])
def test_a_folded_batch_normalization(name: str, seed: int) -> None:
    conforms(check(kernel(name), contract=contract("linear_batchnorm"), dtypes=("fp32",), seed=seed))


def test_folding_moves_results_by_rounding_alone() -> None:
    rng = np.random.default_rng(1)
    x, w = rng.standard_normal((64, 128)).astype(np.float32), rng.standard_normal((32, 128)).astype(np.float32)
    mean, variance, gamma, beta = (np.abs(rng.standard_normal(32)).astype(np.float32) for _ in range(4))
    a, b = (kernel(n)(x, w, mean, variance, gamma, beta) for n in ("batchnorm_folded", "batchnorm_in_sequence"))
    apart = np.abs(a - b).max() / np.abs(b).max()
    assert 0 < apart < 1e-6


@pytest.mark.torch
def test_a_sum_of_cancelling_numbers() -> None:
    """1e-5 of the result is asked for where the result is small beside its terms; the bound belongs to those."""
    torch = pytest.importorskip("torch")
    accused = 0
    for seed in range(8):
        x = np.random.default_rng(seed).standard_normal((1, 1 << 20)).astype(np.float32)
        y = np.add.accumulate(x, axis=-1)[..., -1]
        expected = x.astype(np.float64).sum(axis=-1).astype(np.float32)
        accused += not torch.allclose(torch.from_numpy(y), torch.from_numpy(expected), rtol=1e-5, atol=0.0)
        assert_conforms(y, "sum", x, options=AssertOptions(classes=("C-PRC-01",), witness=False))
    assert accused >= 2


@pytest.mark.parametrize("class_id", ["C-PRC-01", "C-CMP-03"])
def test_rows_of_a_tile_that_wrap_around(class_id: str) -> None:
    conforms(check(kernel("wrapped_rows"), operation="matmul", class_id=class_id, dtypes=("fp16",), seed=3))


@pytest.mark.parametrize("name", ["softmax_total_pairwise", "softmax_total_in_sequence"])
def test_the_sum_of_a_softmax(name: str) -> None:
    conforms(check(kernel(name), contract=contract("softmax_total"), dtypes=("fp32",), seed=4, limit=1 << 26))


def test_the_floor_of_that_sum_flips_and_the_sum_is_right() -> None:
    x = np.random.default_rng(2).standard_normal((256, 1000)).astype(np.float32)
    sums = [kernel(n)(x) for n in ("softmax_total_pairwise", "softmax_total_in_sequence")]
    floors = [np.floor(s) for s in sums]
    assert {0.0, 1.0} == set(np.unique(floors))
    assert (floors[0] != floors[1]).any()
    for total in sums:
        assert_conforms(total, contract("softmax_total"), x, options=QUIET)
    with pytest.raises(ConformanceError):
        assert_conforms(floors[0], contract("softmax_total"), x, options=QUIET)

"""The numbers of the reports, right and wrong, out of the kernels themselves: what is tested is what was reported."""

from __future__ import annotations

import numpy as np
import pytest
from case_harness import load
from case_inputs import BF16, loud

pytestmark = pytest.mark.filterwarnings("ignore::RuntimeWarning")


def close(actual: object, expected: object, digits: float = 1e-3) -> None:
    np.testing.assert_allclose(np.asarray(actual, np.float64), np.asarray(expected, np.float64), rtol=digits)


def pair(case: str, module: str) -> tuple[np.ndarray, np.ndarray]:
    """What the faulty kernel and its sibling make of the loud input, in float64."""
    kernels, inputs = load(module), loud()[case]
    return tuple(np.asarray(k(*inputs)).astype(np.float64) for k in (kernels.faulty, kernels.sibling))


def test_o01_denominator_sticks_at_256() -> None:
    wrong, right = pair("O01", "o01_softmax_total")
    assert (wrong == 0.00390625).all()
    assert wrong.sum() == 2.0
    assert (right == 0.001953125).all()


def test_o02_carry_in_bf16() -> None:
    (x,) = loud()["O02"]
    wrong, right = pair("O02", "o02_cumsum_carry")
    exact = np.cumsum(x.astype(np.float64), axis=-1)
    close(np.abs(wrong - exact).max(), 4.52)
    close(np.abs(right - exact).max(), 0.25, 2e-3)


def test_o03_count_overflows() -> None:
    wrong, right = pair("O03", "o03_mean_count")
    assert np.isnan(wrong).all()
    assert (right == -1.5).all()
    fewer = load("o03_mean_count").faulty(np.full((1, 60000), -1.5, np.float16))
    assert (fewer == -np.inf).all()


@pytest.mark.parametrize(
    ("mean", "variance", "wrong", "right"),
    [
        (0, 2.1e-5, -1.3416, -1.3416),
        (100, 0, -2.3716, -1.3415),
        (1000, 0, -2.3740, -1.3415),
        (10000, 16, -0.0017, -1.3313),
    ],
)
def test_o04_difference_of_squares(mean: float, variance: float, wrong: float, right: float) -> None:
    kernels = load("o04_layernorm_squares")
    x = (mean + np.arange(16) * 1e-3).astype(np.float32)[None]
    one, zero = np.ones(16, np.float32), np.zeros(16, np.float32)
    close(kernels.variance_of_squares(x)[0, 0], variance, 0.02)
    close(kernels.faulty(x, one, zero)[0, 0], wrong, 0.01)
    close(kernels.sibling(x, one, zero)[0, 0], right, 1e-4)
    wide = x.astype(np.float64)
    exact = (wide - wide.mean()) / np.sqrt(wide.var() + 1e-5)
    assert np.abs(kernels.sibling(x, one, zero) - exact).max() < 2e-7


def test_o04_negative_variance() -> None:
    kernels = load("o04_layernorm_squares")
    x = np.arange(40000, 40004, dtype=np.float32)[None]
    assert kernels.variance_of_squares(x) == -128
    assert np.isnan(kernels.faulty(x, np.ones(4, np.float32), np.zeros(4, np.float32))).all()


def test_o05_maximum_of_the_tile() -> None:
    weighted, values = load("o05_attention_maximum").weighted, np.arange(8, dtype=np.float32)[:, None]
    scores = lambda high: np.asarray([[high] * 4 + [0] * 4], np.float32)  # noqa: E731
    assert np.isnan(weighted(scores(100), values, running=False, tile=4))
    close(weighted(scores(100), values, running=True, tile=4), 1.5, 1e-6)
    for running in (False, True):
        close(weighted(scores(10), values, running=running, tile=4), 1.50018, 1e-5)


def test_o06_negative_tail() -> None:
    wrong, right = pair("O06", "o06_gelu_tail")
    close(wrong, [-3.6374e-3, -7.021e-5, -2.98e-7, 0, 0])
    close(right, [-3.6374e-3, -7.0246e-5, -2.2918e-7, -5.93e-9, -8.44e-11])


def test_o12_type_of_the_scale() -> None:
    wrong, right = pair("O12", "o12_fp8_scale")
    assert wrong == 104.5
    close(right, 104.6423, 1e-6)
    close(right / wrong - 1, 1.4e-3, 0.05)


def test_o13_order_of_the_sum() -> None:
    kernels = load("o13_sum_sequence")
    (x,) = loud()["O13"]
    close(kernels.faulty(x), 77149.20, 1e-7)
    close(kernels.lanes(x, 4), 77151.477, 1e-7)  # the reporter's number: four running totals
    close(kernels.sibling(x), 77160.0, 1e-6)
    close(x.astype(np.float64).sum(), 77160.0008, 1e-9)


@pytest.mark.torch
def test_o14_parts_in_fp16() -> None:
    torch = pytest.importorskip("torch")
    kernels = load("o14_split_k")
    torch.manual_seed(0)
    A, B = torch.randn(64, 4096).half().numpy(), torch.randn(4096, 64).half().numpy()
    exact = A.astype(np.float64) @ B.astype(np.float64)
    close(np.abs(kernels.faulty(A, B) - exact).max(), 0.163, 0.01)
    close(np.abs(kernels.sibling(A, B) - exact).max(), 0.0624, 0.01)


def test_o22_offset_in_bf16() -> None:
    kernels = load("o22_weight_offset")
    x, w = np.ones((1, 1), BF16), np.asarray([15.8125], BF16)
    assert kernels.faulty(x, w, 0.0) == np.asarray(16.75, BF16)
    assert kernels.sibling(x, w, 0.0) == np.asarray(16.8125, BF16)


def test_o23_column_for_row() -> None:
    kernels = load("o23_broadcast")
    x, gamma = loud()["O23"]
    close(kernels.faulty(x, gamma, 0.0), [[-1, 10], [-1, 10]], 1e-6)
    close(kernels.sibling(x, gamma, 0.0), [[-1, 1], [-10, 10]], 1e-6)
    shared = np.asarray([2, 3], np.float32)  # of the normal shape: the fusion is right
    close(kernels.sibling(x, shared, 0.0), [[-2, 3], [-2, 3]], 1e-6)


def test_o24_casts_removed() -> None:
    wrong, right = pair("O24", "o24_cast_chain")
    assert right == 1.0078125
    close(wrong, 1.00491, 1e-6)


@pytest.mark.parametrize(
    ("n", "wrong", "right"),
    [(3, 12.67, 0.667), (17, 173.1, 24.0), (127, 1380, 1344), (4, 1.25, 1.25), (128, 1365.25, 1365.25)],
)
def test_o28_padded_variance(n: int, wrong: float, right: float) -> None:
    variance, x = load("o28_padded_lanes").variance, (5 + np.arange(n)).astype(np.float32)[None]
    close(variance(x, masked=False)[0], wrong)
    close(variance(x, masked=True)[0], right)


def test_o28_first_output() -> None:
    kernels, x = load("o28_padded_lanes"), np.asarray([[5, 6, 7]], np.float32)
    one, zero = np.ones(3, np.float32), np.zeros(3, np.float32)
    close(kernels.faulty(x, one, zero)[0, 0], -0.281, 2e-3)
    close(kernels.sibling(x, one, zero)[0, 0], -1.225)


def test_o29_zero_for_minus_infinity() -> None:
    kernels = load("o29_neutral_element")
    wrong, right = pair("O29", "o29_neutral_element")
    close(wrong, [[0.032, 0.087, 0.237]], 3e-3)
    close(right, [[0.090, 0.245, 0.665]], 2e-3)
    zeros, low = np.zeros((1, 1000), np.float32), np.full((1, 1000), -100, np.float32)
    close(kernels.faulty(zeros)[0, 0], 0.0009766)
    assert 0 < float(kernels.faulty(low)[0, 0]) < 2e-45
    for x in (zeros, low):
        close(kernels.sibling(x)[0, 0], 0.001, 1e-6)


def test_o30_offset_in_16_bits() -> None:
    table, index = loud()["O30"]
    kernels = load("o30_offset_width")
    wrong = (kernels.faulty(table, index) != table).any(axis=1)
    assert not wrong[:256].any()
    assert wrong[256:].all()
    assert np.asarray(260 * 128).astype(np.int16) == -32256
    np.testing.assert_array_equal(kernels.sibling(table, index), table)

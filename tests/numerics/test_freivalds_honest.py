"""An honest product is never accused: every family, format, order and scale, and the thresholds are what they say."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kernel_contracts.numerics.freivalds.product import check_product
from kernel_contracts.numerics.freivalds.quantiles import deviation, mean_square
from kernel_contracts.numerics.freivalds.vectors import draw


def _products() -> Any:
    """The generators of the benchmark."""
    path = Path(__file__).parents[2] / "benchmarks" / "freivalds_products.py"
    spec = importlib.util.spec_from_file_location("freivalds_products", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["freivalds_products"] = module
    spec.loader.exec_module(module)
    return module


PRODUCTS = _products()
SIZES = st.one_of(
    st.sampled_from([(1, 1, 1), (2, 1, 3), (4, 2048, 3), (40, 3, 50)]),
    st.tuples(st.integers(1, 20), st.integers(1, 200), st.integers(1, 20)),
)


@settings(max_examples=60, deadline=None)
@given(
    family=st.sampled_from(sorted(PRODUCTS.FAMILIES)),
    dtype=st.sampled_from(sorted(PRODUCTS.DTYPES)),
    shape=SIZES,
    seed=st.integers(0, 2**32),
    vectors=st.integers(1, 3),
)
def test_no_honest_kernel_is_accused(
    family: str, dtype: str, shape: tuple[int, int, int], seed: int, vectors: int
) -> None:
    for h in PRODUCTS.honest(np.random.default_rng(seed), family, dtype, shape):
        found = check_product(h.a, h.b, h.c, accumulate=h.accumulate, vectors=vectors, seed=seed)
        assert found.ok, f"{family} {dtype} {shape} {h.kernel}: {found}"


@pytest.mark.parametrize("family", ["normal", "positive", "heavy-tailed", "outlier columns", "mean 100"])
@pytest.mark.parametrize("dtype", ["fp32", "fp64", "bf16", "fp16"])
def test_blas_products_are_not_even_suspicious(family: str, dtype: str) -> None:
    if dtype == "fp16" and family in ("outlier columns", "heavy-tailed", "mean 100"):
        dtype = "fp16 to fp32"  # the product is past the range of fp16
    for h in PRODUCTS.honest(np.random.default_rng(5), family, dtype, (256, 1024, 192), torch=True):
        found = check_product(h.a, h.b, h.c, seed=7)
        assert (found.ok, found.unexamined) == (True, 0), f"{h.kernel}: {found}"
        assert found.examined <= 8, f"rows that stand out of the others, no more: {h.kernel}: {found}"
        assert 0.05 < found.z < found.threshold  # the threshold is near what it bounds


@pytest.mark.parametrize("scale", [1e-300, 1e-170, 1e-40, 1e40, 1e150, 1e300])
def test_any_scale_of_fp64(scale: float) -> None:
    rng = np.random.default_rng(2)
    a, b = rng.standard_normal((20, 30)) * scale, rng.standard_normal((30, 10))
    c = a @ b
    assert check_product(a, b, c, seed=1).ok
    wrong = c.copy()
    wrong[3, 4] *= 1 + 1e-10
    found = check_product(a, b, wrong, seed=1)
    assert [(f.row, f.column) for f in found.faults] == [(3, 4)]
    assert found.faults[0].got == pytest.approx(wrong[3, 4], rel=1e-14)
    assert found.faults[0].expected == pytest.approx(c[3, 4], rel=1e-14)
    assert not check_product(a, b, 0 * c, seed=1).ok


@pytest.mark.parametrize("scales", [(1e-25, 1.0), (1e-20, 1e-20), (1e19, 1.0), (1e25, 1e-25), (1e30, 1e5)])
@pytest.mark.parametrize("precision", ["fp32", "fp64"])
def test_any_scale_of_fp32(scales: tuple[float, float], precision: str) -> None:
    rng = np.random.default_rng(3)
    a = rng.standard_normal((20, 30), dtype=np.float32) * np.float32(scales[0])
    b = rng.standard_normal((30, 10), dtype=np.float32) * np.float32(scales[1])
    c = a @ b
    assert check_product(a, b, c, seed=1, precision=precision).ok
    wrong = c.copy()
    wrong[3, 4] *= np.float32(1.01)
    found = check_product(a, b, wrong, seed=1, precision=precision)
    assert [(f.row, f.column) for f in found.faults] == [(3, 4)]
    assert not check_product(a, b, 0 * c, seed=1, precision=precision).ok


@pytest.mark.parametrize("shape", [(0, 3, 4), (3, 0, 4), (3, 4, 0), (1, 1, 1)])
def test_empty_and_single(shape: tuple[int, int, int]) -> None:
    m, k, n = shape
    rng = np.random.default_rng(1)
    a, b = rng.standard_normal((m, k)), rng.standard_normal((k, n))
    assert check_product(a, b, a @ b, seed=1).ok
    assert m * n == 0 or not check_product(a, b, a @ b + 1, seed=1).ok


def test_underflow_and_overflow_are_honest() -> None:
    rng = np.random.default_rng(4)
    a, b = rng.standard_normal((20, 300)) * 1e-4, rng.standard_normal((300, 10)) * 1e-4
    h, g = a.astype(np.float16), b.astype(np.float16)
    c = (h.astype(np.float32) @ g.astype(np.float32)).astype(np.float16)
    assert c.any()
    assert np.abs(c).max() < 6.1e-5, "subnormal"
    assert check_product(h, g, c, seed=1).ok
    h, g = (a * 1e6).astype(np.float16), (b * 1e6).astype(np.float16)
    with np.errstate(over="ignore"):
        c = (h.astype(np.float32) @ g.astype(np.float32)).astype(np.float16)
    assert 0 < np.isinf(c).sum() < c.size
    found = check_product(h, g, c, seed=1)
    assert found.ok
    assert found.unexamined > 0, "what lies beside an overflow is not vouched for"


def test_the_quantile_of_signs_holds_and_is_not_far_off() -> None:
    rng = np.random.default_rng(6)
    e = rng.standard_normal(50)
    e /= np.linalg.norm(e)
    sums = np.abs(np.sign(rng.standard_normal((200_000, 50))) @ e)
    for p in (0.1, 0.01):
        share = float(np.mean(sums > deviation(p)))
        assert share <= p
        assert share > p / 30
    assert deviation(1e-9, 1000) == pytest.approx(deviation(1e-12))


def test_the_quantile_of_mean_squares_holds() -> None:
    rng = np.random.default_rng(7)
    means = np.mean(rng.standard_normal((100_000, 40)) ** 2, axis=1)
    for p in (0.1, 0.01):
        assert 0 < np.mean(means > mean_square(p, 40)) <= p


@pytest.mark.parametrize("p", [0.0, 1.0, -0.1, float("nan")])
def test_a_probability_is_one(p: float) -> None:
    with pytest.raises(ValueError, match="probability"):
        deviation(p)
    with pytest.raises(ValueError, match="probability"):
        mean_square(p, 3)


def test_vectors_are_mixed_and_repeat() -> None:
    one, two = draw(1000, 4, seed=9), draw(1000, 4, seed=9)
    assert one.kinds == ("signs", "gaussian", "signs", "gaussian")
    assert np.array_equal(one.values, two.values)
    assert set(np.unique(one.values[:, 0])) == {-1.0, 1.0}
    assert abs(one.values[:, 0].mean()) < 0.15
    assert one.values[:, 1].std() == pytest.approx(1, abs=0.1)
    assert draw(1000).seed != draw(1000).seed, "secret: not the same twice"


def test_blocks_cover_every_column_once() -> None:
    vectors = draw(10, 2, seed=1, block=4)
    assert vectors.blocks == ((0, 4), (4, 8), (8, 10))
    assert (vectors.columns, vectors.width) == (6, 4)

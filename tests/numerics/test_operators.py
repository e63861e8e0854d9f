"""Sums and products against independent definitions: loops, NumPy's own functions, exact rationals."""

from __future__ import annotations

import itertools
from fractions import Fraction

import numpy as np
import pytest
from operator_calls import RNG, held, normal, one, value

from kernel_contracts.formats import BF16, FP16, FP32, Format
from kernel_contracts.numerics.bounded import BoundContext
from kernel_contracts.numerics.builder import Builder
from kernel_contracts.numerics.interpret import Instance, bound, emulate, evaluate
from kernel_contracts.numerics.operators.base import EmulateContext
from kernel_contracts.numerics.rounding import round_to
from kernel_contracts.numerics.summation import Order

# ------------------------------------------------------------------------------------------------ contractions

_SPECS = [
    ("ij,jk->ik", (3, 4), (4, 5)), ("ij,jk->ki", (3, 4), (4, 5)), ("ji,jk->ik", (4, 3), (4, 5)),
    ("bij,bjk->bik", (2, 3, 4), (2, 4, 5)), ("bij,bkj->ibk", (2, 3, 4), (2, 5, 4)), ("i,i->", (7,), (7,)),
    ("i,j->ij", (3,), (4,)), ("i,j->ji", (3,), (4,)), ("abij,abij->ba", (2, 3, 4, 5), (2, 3, 4, 5)),
    ("ncxyrs,ocrs->noxy", (2, 3, 4, 4, 2, 3), (5, 3, 2, 3)), ("ij,jk->ik", (3, 0), (0, 5)), ("i,ij->ij", (3,), (3, 4)),
]  # fmt: skip


@pytest.mark.parametrize(("spec", "left", "right"), _SPECS)
def test_einsum_means_what_numpy_says(spec: str, left: tuple[int, ...], right: tuple[int, ...]) -> None:
    a, b = normal(*left), normal(*right)
    expected = np.einsum(spec, a, b)
    given = one("einsum", [a, b], {"spec": spec})
    np.testing.assert_allclose(value("einsum", [a, b], {"spec": spec}), expected, rtol=1e-12, atol=1e-14)
    radius = bound(given, BoundContext())["y"].radius()
    size = np.einsum(spec, np.abs(a), np.abs(b))
    terms = max(a.size * b.size // max(expected.size, 1), 1)
    assert (radius >= size * FP32.u).all()
    assert (radius <= size * FP32.u * (terms + 2) * 1.001 + 1e-40).all()
    for order in (Order(), Order("pairwise"), Order("tree", 3)):
        y = emulate(given, EmulateContext(order))["y"]
        assert y.shape == expected.shape
        assert (np.abs(y - expected) <= radius).all()


@pytest.mark.parametrize(
    ("left", "right"), [((4,), (4,)), ((4,), (4, 3)), ((2, 4), (4,)), ((5, 1, 2, 4), (3, 4, 6)), ((0, 4), (4, 2))]
)
def test_matmul_shapes(left: tuple[int, ...], right: tuple[int, ...]) -> None:
    a, b = normal(*left), normal(*right)
    given = one("matmul", [a, b])
    np.testing.assert_allclose(value("matmul", [a, b]), a @ b, rtol=1e-12)
    y = emulate(given, EmulateContext(Order("blocked", 2)))["y"]
    assert y.shape == (a @ b).shape
    np.testing.assert_allclose(y, a @ b, rtol=1e-5, atol=1e-5)


def fused_by_hand(a: np.ndarray, b: np.ndarray, fmt: Format, block: int) -> float:
    """One dot product with exact products, each entering one rounding; parts of `block` added up at the end."""
    parts = []
    for start in range(0, len(a), block):
        total = Fraction(0)
        for x, y in zip(a[start : start + block], b[start : start + block], strict=True):
            total = Fraction(float(round_to(float(total + Fraction(float(x)) * Fraction(float(y))), fmt)))
        parts.append(total)
    out = parts[0]
    for p in parts[1:]:
        out = Fraction(float(round_to(float(out + p), fmt)))
    return float(out)


@pytest.mark.parametrize(("order", "block"), [(Order(), 99), (Order("blocked", 3), 3), (Order("split", 2), 5)])
def test_fused_multiply_add_rounds_once_a_step_and_keeps_to_the_order(order: Order, block: int) -> None:
    for _ in range(20):
        a, b = round_to(RNG.standard_normal(10), FP16), round_to(RNG.standard_normal(10), FP16)
        y = emulate(one("matmul", [a, b], fmt=FP16), EmulateContext(order, fma=True))["y"]
        assert float(y) == fused_by_hand(a, b, FP16, block)


def direct_convolution(
    x: np.ndarray, w: np.ndarray, stride: tuple[int, int], padding: int, dilation: int
) -> np.ndarray:
    batch, _, height, width = x.shape
    out_channels, channels, rows, columns = w.shape
    tall = (height + 2 * padding - dilation * (rows - 1) - 1) // stride[0] + 1
    wide = (width + 2 * padding - dilation * (columns - 1) - 1) // stride[1] + 1
    y = np.zeros((batch, out_channels, tall, wide))
    for n, o, i, j in itertools.product(range(batch), range(out_channels), range(tall), range(wide)):
        for c, r, s in itertools.product(range(channels), range(rows), range(columns)):
            p, q = i * stride[0] + r * dilation - padding, j * stride[1] + s * dilation - padding
            if 0 <= p < height and 0 <= q < width:
                y[n, o, i, j] += x[n, c, p, q] * w[o, c, r, s]
    return y


@pytest.mark.parametrize("stride", [(1, 1), (2, 1), (3, 2)])
@pytest.mark.parametrize(("padding", "dilation"), [(0, 1), (1, 1), (2, 2), (0, 2)])
def test_a_convolution_of_windows_is_the_direct_one(stride: tuple[int, int], padding: int, dilation: int) -> None:
    x, w = normal(2, 3, 7, 9), normal(4, 3, 2, 3)
    b = Builder(FP32)
    node, weight = b.input("x", FP32, x.shape), b.input("w", FP32, w.shape)
    for axis in (2, 3):
        node = b.op("pad", [node], {"axis": axis, "before": padding, "after": padding, "value": 0.0})
    for axis, size in ((2, 2), (3, 3)):
        how = {"axis": axis, "size": size, "stride": stride[axis - 2], "dilation": dilation}
        node = b.op("windows", [node], how)
    result = b.op("einsum", [node, weight], {"spec": "ncxyrs,ocrs->noxy"})
    assert all(isinstance(d, int) for d in b.type(result).shape)
    given = Instance(b.finish({"y": result}, ()), {}, {"x": x, "w": w}, {})
    expected = direct_convolution(x, w, stride, padding, dilation)
    assert b.type(result).shape == expected.shape
    np.testing.assert_allclose(evaluate(given)["y"], expected, rtol=1e-12, atol=1e-13)
    radius = bound(given, BoundContext())["y"].radius()
    y = emulate(given, EmulateContext(Order("reversed")))["y"]
    assert (np.abs(y - expected) <= radius).all()
    assert y.shape == expected.shape


# -------------------------------------------------------------------------------------------------- reductions


@pytest.mark.parametrize("axis", [(0,), (1,), (0, 2), (0, 1, 2)])
@pytest.mark.parametrize("keep", [False, True])
@pytest.mark.parametrize("name", ["sum", "mean", "prod", "max", "min", "var"])
def test_reductions_are_numpys(name: str, axis: tuple[int, ...], keep: bool) -> None:
    x = normal(3, 4, 5)
    attrs = {"axis": axis, "keep": keep} | ({"correction": 1} if name == "var" else {})
    more = {"ddof": 1} if name == "var" else {}
    expected = getattr(np, name)(x, axis=axis, keepdims=keep, **more)
    np.testing.assert_allclose(value(name, [x], attrs), expected, rtol=1e-12)
    y = emulate(one(name, [x], attrs), EmulateContext(Order("pairwise")))["y"]
    assert y.shape == expected.shape
    np.testing.assert_allclose(y, expected, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("correction", [0, 1])
@pytest.mark.parametrize("offset", [0.0, 100.0, 1e6])
def test_variance_against_exact_rationals(offset: float, correction: int) -> None:
    """The bound follows the spread, not the size: E[x^2] - E[x]^2 would need gamma mean(x^2)."""
    x = round_to(offset + RNG.standard_normal(65), FP32)
    exact = [Fraction(float(v)) for v in x]
    mean = sum(exact) / len(exact)
    variance = sum((v - mean) ** 2 for v in exact) / (len(exact) - correction)
    attrs = {"axis": (0,), "keep": False, "correction": correction}
    assert float(value("var", [x], attrs)) == pytest.approx(float(variance), rel=1e-12)
    result = held("var", [x], attrs)
    naive = BoundContext().gamma(65, FP32) * float(np.mean(x * x))
    assert result.radius() < 2e-5 + naive * 2e-2
    for order in ("sequential", "pairwise", "reversed"):
        y = emulate(one("var", [x], attrs), EmulateContext(Order(order)))["y"]
        assert abs(Fraction(float(y)) - variance) <= Fraction(float(result.radius()))


def welford(x: np.ndarray, fmt: Format) -> float:
    """The updating algorithm, every operation rounded: conforming as well."""
    mean, total = np.float64(x[0]), np.float64(0.0)
    for k, v in enumerate(x[1:], start=2):
        delta = round_to(v - mean, fmt)
        mean = round_to(mean + round_to(delta / k, fmt), fmt)
        total = round_to(total + round_to(delta * round_to(v - mean, fmt), fmt), fmt)
    return float(round_to(total / len(x), fmt))


@pytest.mark.parametrize("fmt", [FP32, FP16, BF16], ids=str)
@pytest.mark.parametrize("offset", [0.0, 3.0, 30.0])
def test_an_updating_variance_is_within_the_bound(fmt: Format, offset: float) -> None:
    for n in (2, 3, 17, 40):
        x = round_to(offset + RNG.standard_normal(n), fmt)
        result = bound(one("var", [x], {"axis": (0,), "keep": False, "correction": 0}, fmt), BoundContext())["y"]
        assert abs(welford(x, fmt) - float(result.v)) <= result.radius()


def updated_mean(x: np.ndarray, fmt: Format) -> float:
    mean = np.float64(x[0])
    for k, v in enumerate(x[1:], start=2):
        mean = round_to(mean + round_to(round_to(v - mean, fmt) / k, fmt), fmt)
    return float(mean)


@pytest.mark.parametrize("fmt", [FP32, FP16, BF16], ids=str)
@pytest.mark.parametrize("offset", [0.0, 3.0, 30.0])
def test_a_mean_updated_term_by_term_is_within_the_bound(fmt: Format, offset: float) -> None:
    for n in (2, 3, 17, 40):
        x = round_to(offset + RNG.standard_normal(n), fmt)
        result = bound(one("mean", [x], {"axis": (0,), "keep": False}, fmt), BoundContext())["y"]
        assert abs(updated_mean(x, fmt) - float(result.v)) <= result.radius()


@pytest.mark.parametrize("axis", [0, 1])
def test_cumsum_is_a_running_total_whose_radius_grows(axis: int) -> None:
    x = np.abs(normal(30, 40))
    np.testing.assert_allclose(value("cumsum", [x], {"axis": (axis,)}), np.cumsum(x, axis=axis), rtol=1e-12)
    result = held("cumsum", [x], {"axis": (axis,)})
    assert (np.diff(result.radius(), axis=axis) > 0).all()
    y = emulate(one("cumsum", [x], {"axis": (axis,)}), EmulateContext())["y"]
    assert (np.abs(y - np.cumsum(x, axis=axis)) <= result.radius()).all()


def test_empty_sums_are_zero_and_certain() -> None:
    x = np.zeros((3, 0))
    for name, empty in (("sum", 0.0), ("prod", 1.0)):
        result = held(name, [x], {"axis": (1,), "keep": False})
        assert result.v.tolist() == [empty] * 3
        assert not result.radius().any()
        assert emulate(one(name, [x], {"axis": (1,), "keep": False}), EmulateContext())["y"].tolist() == [empty] * 3


def test_a_product_that_overflows_on_the_way_is_undetermined() -> None:
    x = np.array([[1e30, 1e30, 1e-30, 1e-30], [2.0, 3.0, 0.5, 1.0], [1e30, 1e30, 0.0, 1.0]])
    e = held("prod", [x], {"axis": (1,), "keep": False}).radius()
    assert np.isinf(e[0])
    assert np.isfinite(e[1])
    assert np.isinf(e[2])

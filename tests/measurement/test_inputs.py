"""What every input family owes: representable, finite values within the preconditions, for every shape and format."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kernel_contracts.errors import ArithmeticScopeError, UsageError
from kernel_contracts.formats import BF16, BOOL, FORMATS, FP16, FP32, INT64, Format, accumulator
from kernel_contracts.measurement.inputs.base import InputFamily, Request, TensorSpec, families
from kernel_contracts.numerics.rounding import round_to

REAL = [f for f in FORMATS.values() if f.is_real]
NAMES = sorted(families())
every_family = pytest.mark.parametrize("name", NAMES)


def request_of(
    *tensors: TensorSpec, acc: Format = FP32, out: Format = FP32, products: bool = False, seed: int = 0
) -> Request:
    return Request(tensors, acc, products, out, np.random.default_rng(seed))


def matrices(p: Format, m: int, k: int, n: int) -> tuple[TensorSpec, TensorSpec]:
    return TensorSpec("A", p, (m, k), (1,)), TensorSpec("B", p, (k, n), (0,))


@st.composite
def requests(draw: st.DrawFn) -> Request:
    """A request of up to three tensors, of any shape, format and precondition."""
    extent = st.sampled_from([0, 1, 2, 3, 5, 17, 40])
    products = draw(st.booleans())
    contraction = draw(st.lists(extent, min_size=1, max_size=2))
    tensors = []
    for i in range(draw(st.integers(1, 3))):
        fmt = draw(st.sampled_from([*FORMATS.values(), accumulator(14)]))
        free = draw(st.lists(extent, max_size=2))
        summed = contraction if draw(st.booleans()) else []
        at = draw(st.integers(0, len(free)))
        shape = (*free[:at], *summed, *free[at:])
        limit = draw(st.sampled_from([None, None, 0.3, 1.0, 7.3, 1e4]))
        axes = tuple(range(at, at + len(summed)))
        low, high = draw(st.sampled_from([(None, None), (0, 5), (-3, 3)])) if fmt.kind == "int" else (None, None)
        if fmt.kind == "int" and not fmt.signed:
            low, high = None, None
        positive = fmt.is_real and draw(st.booleans()) and draw(st.booleans())
        tensors.append(TensorSpec(f"t{i}", fmt, shape, axes, low, high, positive, limit if fmt.is_real else None))
    acc = draw(st.sampled_from([*REAL, accumulator(14), FORMATS["int32"]]))
    out = draw(st.sampled_from([*REAL, INT64, BOOL]))
    return Request(tuple(tensors), acc, products, out, np.random.default_rng(draw(st.integers(0, 2**32))))


def check_values(spec: TensorSpec, values: np.ndarray) -> None:
    assert values.shape == spec.shape
    if spec.format.kind == "bool":
        assert values.dtype == np.bool_
        return
    if spec.format.kind == "int":
        assert values.dtype == np.int64
        if spec.low is not None and spec.high is not None:
            assert ((values >= spec.low) & (values <= spec.high)).all()
        assert ((values >= spec.format.min_int) & (values <= spec.format.max_int)).all()
        return
    assert values.dtype == np.float64
    assert np.isfinite(values).all()
    np.testing.assert_array_equal(round_to(values, spec.format), values)
    if spec.positive:
        assert (values > 0).all()
    if spec.limit is not None:
        assert (np.abs(values) <= spec.limit).all()


@every_family
@settings(max_examples=120, deadline=None)
@given(request=requests())
def test_values_fit_format_and_preconditions(name: str, request: Request) -> None:
    values = families()[name].generate(request)
    assert list(values) == [t.name for t in request.tensors]
    for spec in request.tensors:
        check_values(spec, values[spec.name])


@every_family
def test_the_same_seed_gives_the_same_values(name: str) -> None:
    a = families()[name].generate(request_of(*matrices(BF16, 5, 33, 4), products=True, seed=3))
    b = families()[name].generate(request_of(*matrices(BF16, 5, 33, 4), products=True, seed=3))
    for tensor in a:
        np.testing.assert_array_equal(a[tensor], b[tensor])


def test_every_module_holds_a_documented_family() -> None:
    found = families()
    expected = {"normal", "uniform", "positive", "wide", "cancelling", "near_overflow", "sparse", "outlier_columns"}
    expected |= {"constant_offset", "offset", "range", "extremes", "ties", "ones", "zeros_mixed", "rising", "falling"}
    expected |= {"exact", "swamping", "width", "powers", "permutation", "faint", "topmost", "overflowed"}
    assert expected <= set(found)
    for name, family in found.items():
        assert isinstance(family, InputFamily)
        assert family.name == name
        assert family.doc
        assert family.shows


@every_family
def test_surplus_arguments_are_refused(name: str) -> None:
    with pytest.raises(UsageError, match=f"input family {name}"):
        families()[name].generate(request_of(TensorSpec("x", FP32, (3,))), 1.0, 2.0, 3.0)


def test_a_range_is_refused_where_one_number_is_due() -> None:
    with pytest.raises(UsageError, match="not a range"):
        families()["cancelling"].generate(request_of(TensorSpec("x", FP32, (3,), (0,))), (1.0, 2.0))


def test_an_empty_index_range_is_refused() -> None:
    spec = TensorSpec("index", INT64, (4,), low=0, high=-1)
    with pytest.raises(ArithmeticScopeError, match="index"):
        families()["normal"].generate(request_of(spec))
    families()["normal"].generate(request_of(dataclasses.replace(spec, shape=(0,))))


@pytest.mark.parametrize("condition", [1e2, 1e4, 1e6])
@pytest.mark.parametrize(("fmt", "acc"), [(FP32, FP32), (BF16, FP32), (FP16, FP32)], ids=str)
def test_cancelling_reaches_its_condition(condition: float, fmt: Format, acc: Format) -> None:
    for k in (33, 256, 1000):
        values = families()["cancelling"].generate(
            request_of(*matrices(fmt, 8, k, 8), acc=acc, products=True, seed=k), condition
        )
        with np.errstate(divide="ignore"):
            measured = np.abs(values["A"]) @ np.abs(values["B"]) / np.abs(values["A"] @ values["B"])
        assert condition / 30 < np.median(measured) < condition * 30
        x = families()["cancelling"].generate(request_of(TensorSpec("x", fmt, (50, k), (1,)), acc=acc), condition)["x"]
        with np.errstate(divide="ignore"):
            measured = np.abs(x).sum(1) / np.abs(x.sum(1))
        assert condition / 30 < np.median(measured) < condition * 30


@pytest.mark.parametrize("terms", [1, 2, 3, 4, 5, 64, 129])
@pytest.mark.parametrize("fmt", [FP32, BF16, FP16], ids=str)
def test_opposite_terms_leave_only_a_small_part(fmt: Format, terms: int) -> None:
    values = families()["opposite"].generate(request_of(*matrices(fmt, 6, terms, 7), products=True, seed=terms))
    products = values["A"][:, :, None] * values["B"][None, :, :]
    paired = terms - 2 if terms % 2 == 0 else terms - 1
    whole, sums = np.abs(products).sum(1), np.abs(products.sum(1))  # exact enough: 53 bits, and pairs are equal
    if paired <= 0:
        assert (sums > 0).all()
        return
    assert (sums < whole * 2.0**-8).mean() > 0.9
    assert (sums > 0).any()
    for row in products.transpose(0, 2, 1).reshape(-1, terms):  # every pair, wherever it lies
        sizes, counts = np.unique(np.abs(row), return_counts=True)
        assert sum(n // 2 * 2 for n in counts) >= paired
        assert all(abs((row == s).sum() - (row == -s).sum()) <= 2 for s in sizes)


def test_opposite_pairs_have_equal_weights_in_attention() -> None:
    shape, axes = (2, 3, 9, 4), (2, 3)  # heads, then S and D, both of which are summed over
    specs = [TensorSpec(n, BF16, shape, axes) for n in "QKV"]
    values = families()["opposite"].generate(request_of(*specs, products=True))
    scores = np.einsum("bhqd,bhkd->bhqk", values["Q"], values["K"])
    paired = 0
    for i in range(9):
        for j in range(i):
            if (values["V"][:, :, i] == -values["V"][:, :, j]).all():
                np.testing.assert_array_equal(scores[..., i], scores[..., j])
                paired += 1
    assert paired == 4


@pytest.mark.parametrize("name", ["near_overflow", "wide", "extremes", "outlier_columns", "falling", "offset"])
@pytest.mark.parametrize("fmt", REAL, ids=str)
def test_sums_stay_finite(name: str, fmt: Format) -> None:
    for out in (fmt, FP32):
        for k in (1, 16, 1000):
            values = families()[name].generate(request_of(*matrices(fmt, 4, k, 4), acc=out, out=out, products=True))
            bound = np.abs(values["A"]) / out.max_finite @ np.abs(values["B"])
            assert bound.max() <= 0.3, (out, k)
            x = families()[name].generate(request_of(TensorSpec("x", fmt, (4, k), (1,)), acc=out, out=out))["x"]
            assert (np.abs(x) / out.max_finite).sum(1).max() <= 0.3, (out, k)


def test_near_overflow_is_near() -> None:
    x = families()["near_overflow"].generate(request_of(*matrices(FP16, 4, 64, 4), out=FP16, products=True))
    assert (np.abs(x["A"]) @ np.abs(x["B"])).max() > FP16.max_finite / 16


def test_offset_noise_survives_rounding() -> None:
    for fmt in (FP32, FP16, BF16):
        x = families()["offset"].generate(request_of(TensorSpec("x", fmt, (8, 200), (1,)), seed=5), (1e3, 1e4))["x"]
        assert (x.std(1) > 0).all()
        assert (np.abs(x.mean(1)) > 20 * x.std(1)).all()
    fixed = families()["constant_offset"].generate(request_of(TensorSpec("x", FP32, (8, 200), (1,))), -1e4)["x"]
    assert abs(fixed.mean() + 1e4) < 1


def test_orders_along_the_summed_axis() -> None:
    spec = TensorSpec("x", FP32, (300, 4), (0,))
    assert (np.diff(families()["rising"].generate(request_of(spec))["x"], axis=0) >= 0).all()
    x = families()["falling"].generate(request_of(spec))["x"]
    assert (x[:16].mean(0) > x[150:].max(0) + 50).all()


def test_range_spans_the_dynamic_range() -> None:
    x = families()["range"].generate(request_of(TensorSpec("x", FP32, (4, 400), (1,))), 2.0**16)["x"]
    assert 40 < np.abs(x).max() <= 4 * np.log(2.0**16)
    assert families()["ties"].generate(request_of(TensorSpec("x", FP32, (50, 50))))["x"].size == 2500
    assert len(np.unique(families()["ties"].generate(request_of(TensorSpec("x", FP32, (50, 50))))["x"])) <= 3
    zeros = families()["zeros_mixed"].generate(request_of(TensorSpec("x", FP32, (50, 50))))["x"]
    assert np.signbit(zeros[zeros == 0]).any()
    assert not np.signbit(zeros[zeros == 0]).all()


def test_overflowed_gradients_are_infinite_only_where_the_precondition_admits_it() -> None:
    specs = [
        TensorSpec("free", FP16, (9,), unbounded=True),
        TensorSpec("finite", FP16, (9,)),
        TensorSpec("bare", FORMATS["fp8_e4m3fn"], (9,), unbounded=True),
        TensorSpec("small", FP16, (9,), limit=2.0, unbounded=True),
    ]
    drawn = [families()["overflowed"].generate(request_of(*specs, seed=s)) for s in range(20)]
    stray = {n: sum(int(np.count_nonzero(~np.isfinite(d[n]))) for d in drawn) for n in drawn[0]}
    assert 10 <= stray.pop("free") <= 20
    assert set(stray.values()) == {0}


@pytest.mark.parametrize("fmt", [FP16, BF16, FP32])
def test_topmost_numbers_double_past_the_range(fmt: Format) -> None:
    values = families()["topmost"].generate(request_of(TensorSpec("x", fmt, (99,))))["x"]
    assert (2 * np.abs(values) >= fmt.max_finite).all()


def test_faint_numbers_are_small() -> None:
    values = families()["faint"].generate(request_of(TensorSpec("x", FP32, (999,))))["x"]
    assert 0.9 < np.std(values) * 2**12 < 1.1

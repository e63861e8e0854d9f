"""Rounding against an oracle in exact rational arithmetic, and against NumPy and ml_dtypes where those round once."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kernel_contracts.errors import ArithmeticScopeError
from kernel_contracts.formats import FORMATS, Format, accumulator
from kernel_contracts.numerics.rounding import (
    from_storage,
    round_sum,
    round_to,
    storage_dtype,
    to_storage,
    ulp_of,
)

REAL = [f for f in FORMATS.values() if f.is_real] + [accumulator(n) for n in (2, 14, 22, 52, 53)]
STORED = [f for f in REAL if f.name in FORMATS and f.name != "tf32"]
SMALL = [f for f in STORED if f.bits <= 16]
real_formats = pytest.mark.parametrize("fmt", REAL, ids=str)


def exact_round(x: Fraction, fmt: Format) -> float:
    """Round to nearest even over the rationals; the sign of a zero result is not modelled."""
    if x == 0:
        return 0.0
    size = abs(x)
    exponent = size.numerator.bit_length() - size.denominator.bit_length()
    exponent -= size < Fraction(2) ** exponent
    quantum = Fraction(2) ** (max(exponent, fmt.emin) - fmt.precision + 1)
    rounded = Fraction(round(size / quantum)) * quantum  # Python rounds a Fraction half to even
    if rounded > Fraction(fmt.max_finite):
        sign = 1.0 if x > 0 else -1.0
        return {"inf": sign * np.inf, "nan": np.nan, "saturate": sign * fmt.max_finite}[fmt.overflow]
    return float(rounded) if x > 0 else -float(rounded)


def values_of(fmt: Format) -> np.ndarray:
    """Every finite value of a format of at most 16 bits."""
    dtype = storage_dtype(fmt)
    patterns = np.arange(2**fmt.bits, dtype=np.uint8 if fmt.bits == 8 else np.uint16).view(dtype)
    with np.errstate(invalid="ignore"):
        patterns = patterns.astype(np.float64)
    return np.unique(patterns[np.isfinite(patterns)])


def hard_points(fmt: Format, seed: int = 0) -> np.ndarray:
    """Values, ties and their float64 neighbours, in every binade from below the subnormals to past the top."""
    rng = np.random.default_rng(seed)
    top = int(np.frexp(fmt.max_finite)[1])
    low = max(fmt.emin - fmt.precision - 2, -1070)
    exponents = np.unique(np.concatenate([np.linspace(low, top + 1, 60).astype(int), [fmt.emin - 1, fmt.emin, top]]))
    mantissas = np.concatenate([rng.integers(0, 2 ** (fmt.precision + 1), 20) * 2.0**-fmt.precision, [0, 1, 1.5]])
    with np.errstate(over="ignore"):
        base = np.ldexp((mantissas[:, None] + 1) / 2, exponents[None, :].astype(np.int32)).ravel()
    edges = [0.0, fmt.max_finite, min(fmt.overflow_threshold, 1.79e308), fmt.least_normal, fmt.least_subnormal]
    base = np.concatenate([base, edges, np.array(edges) / 2])
    base = base[np.isfinite(base)]
    with np.errstate(over="ignore", under="ignore"):
        near = np.concatenate([base, np.nextafter(base, np.inf), np.nextafter(base, 0)])
    return np.concatenate([near[np.isfinite(near)], -near[np.isfinite(near)]])


@real_formats
def test_hard_points_round_as_rational_arithmetic_says(fmt: Format) -> None:
    points = hard_points(fmt)
    expected = [exact_round(Fraction(x), fmt) for x in points.tolist()]
    np.testing.assert_array_equal(round_to(points, fmt), expected)


@pytest.mark.parametrize("fmt", SMALL, ids=str)
def test_all_values_are_fixed_points_and_all_midpoints_go_to_even(fmt: Format) -> None:
    values = values_of(fmt)
    np.testing.assert_array_equal(round_to(values, fmt), values)
    middle = (values[:-1] + values[1:]) / 2  # exact: float64 has the room
    got = round_to(middle, fmt)
    even = np.array([exact_round(Fraction(m), fmt) for m in middle[:: max(1, len(middle) // 4000)].tolist()])
    np.testing.assert_array_equal(got[:: max(1, len(middle) // 4000)], even)
    np.testing.assert_array_equal(round_to(np.nextafter(middle, -np.inf), fmt), values[:-1])
    np.testing.assert_array_equal(round_to(np.nextafter(middle, np.inf), fmt), values[1:])


@pytest.mark.parametrize("fmt", SMALL, ids=str)
def test_agrees_with_the_storage_type_where_that_rounds_once(fmt: Format) -> None:
    """float32 inputs: the casts of NumPy and ml_dtypes are then single roundings."""
    rng = np.random.default_rng(1)
    x = np.ldexp(rng.uniform(-1, 1, 20000), rng.integers(-140, 120, 20000).astype(np.int32)).astype(np.float32)
    with np.errstate(over="ignore", invalid="ignore"):
        expected = x.astype(storage_dtype(fmt)).astype(np.float64)
    got = round_to(x, fmt)
    np.testing.assert_array_equal(got, expected)
    finite = ~np.isnan(expected)
    np.testing.assert_array_equal(np.signbit(got[finite]), np.signbit(expected[finite]))


@real_formats
@settings(max_examples=200, deadline=None)
@given(x=st.floats(allow_nan=False, allow_infinity=False))
def test_any_float64_rounds_as_rational_arithmetic_says(fmt: Format, x: float) -> None:
    np.testing.assert_array_equal(round_to(x, fmt), exact_round(Fraction(x), fmt))


@real_formats
@settings(max_examples=200, deadline=None)
@given(data=st.data())
def test_an_unevaluated_sum_rounds_once(fmt: Format, data: st.DataObject) -> None:
    points = hard_points(fmt)
    high = float(points[data.draw(st.integers(0, len(points) - 1))])
    half = float(np.spacing(abs(high))) / 2
    low = data.draw(st.sampled_from([0.0, 1.0, -1.0, 0.5, -0.5, 2.0**-40, -(2.0**-40)])) * half
    total = Fraction(high) + Fraction(low)
    if abs(total) >= Fraction(2) ** 1024 - Fraction(2) ** 970 or float(total) != high:
        return  # not a sum in two parts: `high` is not the float64 nearest to it
    np.testing.assert_array_equal(round_sum(high, low, fmt), exact_round(total, fmt))


def test_rounding_the_high_part_alone_would_be_wrong() -> None:
    tie = 1 + 2.0**-8  # between 1 and the next bf16
    bf16 = FORMATS["bf16"]
    assert round_to(tie, bf16) == 1.0
    assert round_sum(tie, 2.0**-60, bf16) == 1 + 2.0**-7
    assert round_sum(tie, -(2.0**-60), bf16) == 1.0


def test_rounding_twice_would_be_wrong() -> None:
    x = 1 + 2.0**-8 + 2.0**-40  # float32 drops the last bit and leaves a tie
    assert round_to(x, FORMATS["bf16"]) == 1 + 2.0**-7


@real_formats
def test_overflow_modes(fmt: Format) -> None:
    past = np.array([np.inf, -np.inf]) if fmt.name == "fp64" else np.array([1e300, -1e300])
    if fmt.max_finite > 1e300:
        past = np.array([np.inf, -np.inf])
    np.testing.assert_array_equal(round_to(past, fmt, overflow="saturate"), [fmt.max_finite, -fmt.max_finite])
    np.testing.assert_array_equal(round_to(past, fmt, overflow="inf"), [np.inf, -np.inf])
    stated = [np.nan, np.nan] if fmt.overflow == "nan" else [np.inf, -np.inf]
    np.testing.assert_array_equal(round_to(past, fmt), stated)
    assert np.isnan(round_to(np.nan, fmt, overflow="saturate"))


@real_formats
def test_flushing_leaves_normals_and_zeroes_subnormals(fmt: Format) -> None:
    x = np.array([fmt.least_normal, fmt.least_normal / 2, -fmt.least_normal / 2, 1.0, 0.0])
    got = round_to(x, fmt, flush=True)
    np.testing.assert_array_equal(got, [fmt.least_normal, 0.0, 0.0, 1.0, 0.0])
    if not fmt.storage.endswith("fnuz"):
        assert np.signbit(got[2])
    assert round_to(x, fmt)[1] != 0.0


@pytest.mark.parametrize("fmt", SMALL, ids=str)
def test_ulp_is_the_gap_to_the_next_value(fmt: Format) -> None:
    values = values_of(fmt)
    values = values[values >= 0]
    np.testing.assert_array_equal(ulp_of(-values[:-1], fmt), np.diff(values))
    assert ulp_of(0.0, fmt) == fmt.least_subnormal


def test_ulp_of_the_wide_formats() -> None:
    x = np.array([0.0, 1e-310, 1.0, -3.0, 1e300, 1.79e308])
    np.testing.assert_array_equal(ulp_of(x, FORMATS["fp64"]), np.spacing(np.abs(x)))
    y = np.array([0.0, 1e-40, 1.0, 3.0, 1e30], dtype=np.float32)
    np.testing.assert_array_equal(ulp_of(y, FORMATS["fp32"]), np.spacing(y).astype(np.float64))


@pytest.mark.parametrize("fmt", REAL, ids=str)
def test_storage_round_trip_is_exact(fmt: Format) -> None:
    x = round_to(hard_points(fmt), fmt)
    stored = to_storage(x, fmt)
    assert stored.dtype == storage_dtype(fmt)
    np.testing.assert_array_equal(from_storage(stored), x)


def test_storage_rounds_once() -> None:
    assert from_storage(to_storage(1 + 2.0**-8 + 2.0**-40, FORMATS["bf16"])) == 1 + 2.0**-7


def test_integers_and_bool_keep_their_kind() -> None:
    for name in ("int8", "int16", "int32", "int64", "uint8"):
        fmt = FORMATS[name]
        back = from_storage(to_storage(np.array([fmt.min_int, 0, fmt.max_int]), fmt))
        assert back.dtype == np.int64
        assert back.tolist() == [fmt.min_int, 0, fmt.max_int]
    assert from_storage(to_storage(np.array([True, False]), FORMATS["bool"])).dtype == np.bool_
    with pytest.raises(ArithmeticScopeError, match=r"int8.*-128\.\.127"):
        to_storage(np.array([300]), FORMATS["int8"])
    with pytest.raises(ArithmeticScopeError, match="whole"):
        to_storage(np.array([0.5]), FORMATS["int8"])
    with pytest.raises(ArithmeticScopeError, match="int8"):
        round_to(1.0, FORMATS["int8"])


@pytest.mark.parametrize("shape", [(), (0,), (3, 0, 2), (2, 3)])
def test_shapes_and_inputs_are_left_alone(shape: tuple[int, ...]) -> None:
    x = np.full(shape, 1.3)
    for fmt in REAL:
        got = round_to(x, fmt)
        assert got.shape == shape
        assert round_sum(x, x * 2.0**-60, fmt).shape == shape
        assert ulp_of(x, fmt).shape == shape
        assert got.dtype == np.float64
    assert (x == 1.3).all()
    strided = np.arange(24.0).reshape(4, 6)[::2, ::3].T
    np.testing.assert_array_equal(round_to(strided, FORMATS["bf16"]), strided)

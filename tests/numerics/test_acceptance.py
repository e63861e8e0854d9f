"""Which answers are right, element by element: special values, ties, exactness, the edge of overflow."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import kernel_contracts.numerics.acceptance as acceptance_module
from kernel_contracts.formats import BF16, FORMATS, FP16, FP32, FP64, INT64
from kernel_contracts.numerics.acceptance import Acceptance, from_bounded
from kernel_contracts.numerics.bounded import BoundContext, Bounded, clean, quantum_of
from kernel_contracts.numerics.rounding import round_to, ulp_of


def within(v: float, e: float, fmt: str = "fp32", *, rounded: bool = False) -> Acceptance:
    return from_bounded(Bounded(np.array([v]), np.array([e])), FORMATS[fmt], rounded=rounded)


def ratio(acceptance: Acceptance, y: float) -> float:
    return float(acceptance.ratios(np.array([y]))[0])


@pytest.mark.parametrize("v", [0.0, 1.5, -1e300, np.inf, -np.inf])
@pytest.mark.parametrize("e", [0.0, 1e-3, 1e30])
@pytest.mark.parametrize("rounded", [False, True])
def test_nan_is_never_a_pass(v: float, e: float, rounded: bool) -> None:
    assert ratio(within(v, 0.0 if np.isinf(v) else e, "fp64", rounded=rounded), np.nan) == np.inf


NUMBERS = st.sampled_from([0.0, -0.0, 1.0, 1.0 + 2.0**-52, -3.5, 1e300, -1e300, 5e-324, np.inf, -np.inf, np.nan])


def by_definition(y: float, center: float, below: float, above: float, tolerance: float, free: bool) -> float:
    """The ratio of one element, from what the docstring says of it."""
    if free:
        return 0.0
    with np.errstate(all="ignore"):
        offset = np.float64(y) - np.float64(center)
    admitted = y == center if np.isinf(center) else below <= offset <= above
    if np.isinf(y) and admitted:
        return 0.0
    with np.errstate(all="ignore"):
        ratio = np.float64(0.0) if offset == 0 else abs(offset) / np.float64(tolerance)
    if np.isnan(ratio) or np.isinf(y):
        ratio = np.float64(np.inf)
    return float(min(ratio, 1.0) if admitted else max(ratio, 1.0 + 2.0**-40))


@settings(max_examples=300, deadline=None)
@given(st.data())
def test_ratios_are_those_of_each_element_whatever_lies_beside_it(data: st.DataObject) -> None:
    """Also across the ends of the blocks in which they are computed."""
    size = data.draw(st.sampled_from([1, 5, acceptance_module._BLOCK, 2 * acceptance_module._BLOCK + 3]))
    y, center = np.full(size, 2.0), np.full(size, 2.0)
    radius, free = np.full(size, 0.25), np.zeros(size, bool)
    edge = acceptance_module._BLOCK
    places = sorted({p for p in (0, 1, edge - 1, edge, 2 * edge, size - 1) if p < size})
    for p in places:
        y[p], center[p], free[p] = data.draw(NUMBERS), data.draw(NUMBERS), data.draw(st.booleans())
        radius[p] = data.draw(st.sampled_from([0.0, 5e-324, 0.5, 1e300, np.inf]))
    with np.errstate(over="ignore", invalid="ignore"):
        held = Acceptance(FP64, center, -radius, radius, free, radius)
        found = held.ratios(y)
    due = [by_definition(y[p], center[p], -radius[p], radius[p], radius[p], free[p]) for p in places]
    assert [found[p] for p in places] == due
    assert np.count_nonzero(found) == np.count_nonzero(due)


def test_what_is_admitted_does_not_depend_on_the_size_of_the_array() -> None:
    rng = np.random.default_rng(4)
    n = 2 * acceptance_module._BLOCK + 3
    v, e = rng.standard_normal(n) * 2.0 ** rng.integers(-30, 30, n), np.abs(rng.standard_normal(n)) * 2.0**-20
    v[:: n // 7], e[:: n // 5] = np.inf, np.inf
    v[3], e[4], v[acceptance_module._BLOCK] = np.nan, 0.0, -np.inf
    for fmt, rounded in ((FP32, True), (BF16, True), (FP32, False)):
        whole = from_bounded(Bounded(v, e), fmt, rounded=rounded)
        for some in (slice(0, 9), slice(acceptance_module._BLOCK - 2, acceptance_module._BLOCK + 3), slice(n - 4, n)):
            part = from_bounded(Bounded(v[some], e[some]), fmt, rounded=rounded)
            for name in ("below", "above", "free", "tolerance"):
                np.testing.assert_array_equal(getattr(whole, name)[some], getattr(part, name))


def test_an_infinity_is_right_only_where_the_interval_reaches_it() -> None:
    up, down, finite = within(np.inf, 0.0), within(-np.inf, 0.0), within(1e30, 1e20)
    assert ratio(up, np.inf) == ratio(down, -np.inf) == 0
    assert ratio(up, -np.inf) == ratio(down, np.inf) == ratio(finite, np.inf) == ratio(finite, -np.inf) == np.inf
    assert ratio(up, 3e38) > 1
    assert ratio(down, -3e38) > 1


def test_the_edge_of_overflow_admits_both_sides_and_nothing_else() -> None:
    """65519 rounds to 65504, 65520 to infinity: a radius that reaches both admits both."""
    edge = within(65519.0, 2.0, "fp16", rounded=True)
    assert [ratio(edge, y) <= 1 for y in (65504.0, np.inf, -np.inf, 65472.0)] == [True, True, False, False]
    inside = within(65519.0, 0.5, "fp16", rounded=True)
    assert ratio(inside, 65504.0) <= 1
    assert ratio(inside, np.inf) == np.inf
    past = within(70000.0, 1.0, "fp16", rounded=True)
    assert ratio(past, np.inf) == 0
    assert ratio(past, 65504.0) > 1
    # a format without infinities gives NaN there, and any answer is as good
    assert within(500.0, 1.0, "fp8_e4m3fn", rounded=True).free.all()


def test_exact_elements_admit_one_value() -> None:
    one = within(3.0, 0.0)
    assert one.exact.all()
    assert ratio(one, 3.0) == 0
    assert ratio(one, np.nextafter(3.0, 4.0)) > 1
    zero = within(0.0, 0.0)
    assert ratio(zero, 0.0) == ratio(zero, -0.0) == 0
    assert ratio(zero, 5e-324) > 1
    settled = within(3.0 + 2.0**-12, 0.0, "bf16", rounded=True)
    assert settled.exact.all()
    assert ratio(settled, 3.0) <= 1
    assert ratio(settled, 3.0 + 2.0**-6) > 1
    assert ratio(settled, 3.0 - 2.0**-6) > 1


def test_a_tie_goes_to_even_when_the_value_is_exact_and_to_either_side_when_it_is_not() -> None:
    tie = 1.0 + BF16.u
    exact, near = within(tie, 0.0, "bf16", rounded=True), within(tie, 1e-12, "bf16", rounded=True)
    assert ratio(exact, 1.0) <= 1
    assert ratio(exact, 1.0 + BF16.eps) > 1
    assert ratio(near, 1.0) <= 1
    assert ratio(near, 1.0 + BF16.eps) <= 1
    assert ratio(near, 1.0 - BF16.eps / 2) > 1
    assert ratio(near, 1.0 + 2 * BF16.eps) > 1


@settings(max_examples=300, deadline=None)
@given(st.floats(-1e4, 1e4), st.floats(0, 10), st.floats(-1, 1), st.sampled_from(["bf16", "fp16", "fp32", "fp8_e5m2"]))
def test_the_rounding_of_every_member_is_admitted(v: float, e: float, place: float, name: str) -> None:
    y = round_to(np.array([v + place * e]), FORMATS[name])
    assert ratio(within(v, e, name, rounded=True), float(y[0])) <= 1


@settings(max_examples=200, deadline=None)
@given(st.floats(-1e4, 1e4), st.floats(1e-3, 10), st.sampled_from(["bf16", "fp16", "fp32"]))
def test_what_no_member_rounds_to_is_not(v: float, e: float, name: str) -> None:
    fmt = FORMATS[name]
    low, high = round_to(np.array([v - e * 1.01, v + e * 1.01]), fmt)
    for y in (low - ulp_of(low, fmt) * 1.01, high + ulp_of(high, fmt) * 1.01):
        assert ratio(within(v, e, name, rounded=True), float(y)) > 1


def test_float64_answers_one_ulp_apart_are_told_apart() -> None:
    """The oracle comes as an unevaluated sum: neither its rounding nor the subtraction may blur an ulp."""
    v = np.array([1.0 / 3.0])
    rest = np.array([2.0**-56])
    e = np.array([2.0**-55])
    held = from_bounded(Bounded(v, e), FP64, rounded=False, center=(v, rest))
    step = float(np.spacing(v[0]))
    assert ratio(held, v[0]) <= 1
    assert ratio(held, v[0] + step) > 1
    assert ratio(held, v[0] - step) > 1
    wide = from_bounded(Bounded(v, np.array([1.2 * step])), FP64, rounded=False, center=(v, rest))
    assert ratio(wide, v[0] + step) <= 1 < ratio(wide, v[0] + 2 * step)


def test_the_ratio_grows_with_the_distance_and_meets_one_at_the_border() -> None:
    held = within(1.0, 0.5, "fp64")
    ratios = [ratio(held, y) for y in (1.0, 1.25, 1.5, 1.75, 3.0)]
    assert ratios == [0.0, 0.5, 1.0, 1.5, 4.0]


def test_an_undetermined_element_admits_all_even_nan() -> None:
    for v in (1.0, np.nan):
        free = within(v, np.inf)
        assert free.free.all()
        assert not free.exact.any()
        assert [ratio(free, y) for y in (np.nan, np.inf, -5.0)] == [0.0, 0.0, 0.0]


def test_integers_are_right_or_wrong() -> None:
    held = from_bounded(Bounded(np.array([3, 4]), np.array([0.0, np.inf])), INT64, rounded=False)
    np.testing.assert_array_equal(held.ratios(np.array([3, 99])), [0, 0])
    np.testing.assert_array_equal(held.ratios(np.array([2, 99])), [np.inf, 0])


def test_flushing_admits_zero_for_a_subnormal() -> None:
    value = Bounded(np.array([FP32.least_normal / 2]), np.array([0.0]))
    assert from_bounded(value, FP32, rounded=False).ratios(np.array([0.0]))[0] > 1
    assert from_bounded(value, FP32, rounded=False, flush=True).ratios(np.array([0.0]))[0] <= 1


def test_two_intervals_together_admit_what_both_do() -> None:
    both = within(1.0, 0.5, "fp64").within(np.array([-0.1]), np.array([0.2]))
    assert [ratio(both, y) <= 1 for y in (0.95, 1.15, 0.85, 1.25)] == [True, True, False, False]


# ------------------------------------------------------------------------------------- the number system beneath


def test_clean_settles_the_special_cases() -> None:
    v = np.array([1.0, np.inf, np.inf, np.nan, 60000.0, 2.0])
    carried = np.array([0.0, 0.5, np.inf, 0.0, 0.0, np.nan])
    error = np.array([0.1, np.inf, np.inf, 0.1, 0.1, 0.1])
    magnitude = np.array([1.1, np.inf, np.inf, 1.0, 70000.0, 2.0])
    e = clean(v, carried, error, FP16, magnitude).radius()
    assert e[0] == pytest.approx(0.1)
    assert e[1] == 0
    assert np.isinf(e[2:]).all()


def test_a_certain_infinity_needs_a_format_that_has_one() -> None:
    v = np.array([np.inf])
    assert clean(v, 0.0, np.array([np.inf]), FORMATS["fp8_e5m2"], v).radius()[0] == 0
    assert np.isinf(clean(v, 0.0, np.array([np.inf]), FORMATS["fp8_e4m3fn"], v).radius()[0])


@settings(max_examples=200, deadline=None)
@given(st.lists(st.integers(-(2**40), 2**40), min_size=1, max_size=6), st.integers(-60, 60))
def test_quantum_divides_everything_and_twice_it_does_not(numbers: list[int], shift: int) -> None:
    x = np.array(numbers, dtype=np.float64) * 2.0**shift
    q = quantum_of(x)
    assert q is not None
    if not x.any():
        assert q == 1.0
        return
    assert (x / q == np.rint(x / q)).all()
    assert not (x / (2 * q) == np.rint(x / (2 * q))).all()
    assert quantum_of(np.append(x, np.inf)) is None


def test_gamma_and_depth_are_the_textbook_ones() -> None:
    any_order = BoundContext()
    assert any_order.gamma(10, FP32) == 10 * 2.0**-24 / (1 - 10 * 2.0**-24)
    assert any_order.gamma(0, FP32) == 0
    assert any_order.gamma(2**23, FP32) == np.inf
    assert BoundContext(probabilistic=4).gamma(10_000, FP32) < any_order.gamma(10_000, FP32) / 20
    assert BoundContext(probabilistic=1000).gamma(4, FP32) == any_order.gamma(4, FP32)
    depths = {"any": 99, "sequential": 99, "pairwise": 7}
    assert {k: BoundContext(k).depth(100) for k in depths} == depths
    assert BoundContext("blocked", 16).depth(100) == 15 + 6
    assert BoundContext("split", 8).depth(100) == 12 + 7
    assert all(BoundContext(k, 4).depth(n) == 0 for k in ("any", "pairwise", "blocked", "split") for n in (0, 1))


def test_the_absolute_term_is_never_zero() -> None:
    for fmt in FORMATS.values():
        if fmt.is_real:
            assert BoundContext().tiny(fmt) > 0
            assert BoundContext(flush=True).tiny(fmt) == fmt.least_normal


def test_exactness_is_judged_by_quantum_and_size() -> None:
    context = BoundContext()
    assert context.unrounded(1.0, 2.0**24, FP32)
    assert not context.unrounded(1.0, 2.0**24 + 1, FP32)
    assert not context.unrounded(None, 1.0, FP32)
    assert not context.unrounded(FP32.least_subnormal / 2, 0.0, FP32)
    assert not context.unrounded(32.0, 65536.0, FP16)
    # where subnormals are flushed, a grid finer than the normal numbers proves nothing
    assert context.unrounded(FP16.least_subnormal, 1e-6, FP16)
    assert not BoundContext(flush=True).unrounded(FP16.least_subnormal, 1e-6, FP16)

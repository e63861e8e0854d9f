"""Differences against what a contract permits: widths, choices, elements that admit every answer."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from kernel_contracts.conformance.arbiter import Gap
from kernel_contracts.conformance.pricing import CHOICE, VAGUE, Price, measured, price_of
from kernel_contracts.formats import FP32
from kernel_contracts.numerics.acceptance import from_bounded
from kernel_contracts.numerics.bounded import Bounded

GAP = Gap("normal inputs", 3, 1)
NAN, INF = np.nan, np.inf
numbers = st.floats(-8, 8, width=32)


def price(width: object, *, free: object = False, chosen: bool = False) -> Price:
    return Price(np.asarray(free), chosen, np.asarray(width, np.float64))


def test_a_difference_is_a_share_of_the_width() -> None:
    found = measured(GAP, price([4.0, 2.0]), np.array([1.0, 1.0]), np.array([2.0, 2.0]))
    assert (found.ratio, found.open, found.covered) == (0.5, 0, "")


def test_the_width_is_the_tolerance_to_both_sides() -> None:
    accepted = from_bounded(Bounded(np.array([1.0]), np.array([0.25])), FP32, rounded=False)
    found = measured(GAP, price_of(accepted), np.array([0.75]), np.array([1.25]))
    assert accepted.tolerance[0] == pytest.approx(0.25)
    assert found.ratio == pytest.approx(1.0)


@settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(numbers, st.floats(2.0**-10, 4), st.floats(-1, 1), st.floats(-1, 1))
def test_two_admitted_answers_are_never_further_apart_than_permitted(v: float, e: float, s: float, t: float) -> None:
    accepted = from_bounded(Bounded(np.array([v]), np.array([e])), FP32, rounded=True)
    x, y = (np.float32(v + e * k).astype(np.float64).reshape(1) for k in (s, t))
    assert (accepted.ratios(x) <= 1).all()
    assert (accepted.ratios(y) <= 1).all()
    assert measured(GAP, price_of(accepted), x, y).ratio <= 1 + 1e-12


@pytest.mark.parametrize(
    ("x", "y", "open_"), [(1.0, 2.0, 0), (NAN, 2.0, 1), (INF, 2.0, 1), (INF, -INF, 1), (NAN, NAN, 0), (INF, INF, 0)]
)
def test_where_every_answer_is_admitted_only_another_kind_is_open(x: float, y: float, open_: int) -> None:
    found = measured(GAP, price(INF, free=True), np.asarray(x), np.asarray(y))
    assert (found.open, found.ratio) == (open_, 0.0)
    assert found.covered == ("" if x == y or x != x != y != y else VAGUE)


def test_a_choice_is_covered() -> None:
    found = measured(GAP, price(0.0, free=[True], chosen=True), np.array([3]), np.array([5]))
    assert (found.open, found.covered) == (0, CHOICE)


def test_truth_values_and_arrays_without_axes_are_compared() -> None:
    assert measured(GAP, price(0.0), np.asarray(True), np.asarray(False)).ratio == 0.0
    assert measured(GAP, price([INF], free=[True], chosen=True), np.array([True]), np.array([False])).covered == CHOICE


def test_the_stricter_of_two_claims_counts() -> None:
    both = price([4.0, INF], free=[False, True]).meet(price([INF, 1.0], free=[True, False]))
    assert both.width.tolist() == [4.0, 1.0]
    assert both.free.tolist() == [False, False]

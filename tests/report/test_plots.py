"""Pictures as geometry: where points, bars, blocks and branches lie."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest

from kernel_contracts.report.maps import heat_map, tree_plot
from kernel_contracts.report.measured import Call
from kernel_contracts.report.plots import error_plot, frame, histogram


def call(n: int, residual: float, tolerance: float) -> Call:
    ratio = 0.0 if residual == 0 else math.inf if tolerance == 0 else residual / tolerance
    return Call("normal", "one", {"K": n}, "contiguous", not ratio <= 1, ratio, "y", residual, tolerance)


def test_an_error_outside_its_bound_lies_above_it() -> None:
    calls = [call(16, 1e-7, 1e-6), call(64, 3e-6, 4e-6), call(256, 1e-3, 1e-5)]
    axes = frame(calls)
    assert axes is not None
    plot = error_plot(calls, axes)
    assert plot is not None
    by_x = sorted(plot.marks, key=lambda m: m.x)
    assert [m.fails for m in by_x] == [False, False, True]
    for mark in by_x:
        assert mark.bound is not None
        assert (mark.y < mark.bound) == mark.fails, "the axis points down"
        assert plot.top <= mark.y <= plot.bottom
        assert plot.left <= mark.x <= plot.right
    assert plot.xs[0].text == "16"


def test_zero_and_infinity_have_places_of_their_own() -> None:
    calls = [call(16, 0.0, 1e-6), call(16, 1e-6, 1e-6), call(16, math.inf, 1e-6)]
    axes = frame(calls)
    assert axes is not None
    heights = [axes.y(v) for v in (0.0, 1e-6, math.inf)]
    assert heights == sorted(heights, reverse=True)
    assert len(set(heights)) == 3
    plot = error_plot(calls, axes)
    assert plot is not None
    assert {t.text for t in plot.ys} >= {"0", "∞"}


def test_the_size_with_the_most_values_is_drawn_against_unless_one_is_named() -> None:
    calls = [replace(call(1, 1e-7, 1e-6), dims={"M": 3, "K": k}) for k in (16, 32)]
    named, free = frame(calls, "M"), frame(calls)
    assert named is not None
    assert free is not None
    assert (named.dim, free.dim) == ("M", "K")
    assert frame([replace(c, residual=None) for c in calls]) is None


@pytest.mark.parametrize(("ratio", "outside"), [(0.0, False), (1.0, False), (1.0000001, True), (math.inf, True)])
def test_bars_beyond_the_bound_lie_right_of_it(ratio: float, outside: bool) -> None:
    found = histogram([replace(call(1, 0.0, 1.0), ratio=ratio)])
    assert found is not None
    (bar,) = found.bars
    assert bar.fails is outside
    assert (bar.x >= found.one) is outside
    assert (bar.x + bar.width <= found.one) is not outside


def test_the_label_of_the_bound_stands_at_the_bound() -> None:
    found = histogram([call(1, 0.5, 1.0)])
    assert found is not None
    assert next(t.at for t in found.xs if t.text == "1") == found.one


def test_a_wrong_tail_is_drawn_in_the_last_column_alone() -> None:
    mapped = replace(
        call(1, 2.0, 1.0), plane=(4, 37), blocks=(4, 16), map=((0.0, 0.05, 7.0),)
    )  # fmt: skip
    found = heat_map([mapped])
    assert found is not None
    assert dict(found.shades) == {0: "M0 0h16v4h-16z", 1: "M16 0h16v4h-16z", 5: "M32 0h5v4h-5z"}
    assert "1 of 3 blocks outside" in found.said


def test_a_map_that_does_not_fit_its_output_is_not_drawn() -> None:
    assert heat_map([replace(call(1, 2.0, 1.0), plane=(4, 37), blocks=(4, 16), map=((0.0, 7.0),))]) is None


def test_a_tree_has_a_branch_for_each_number_that_is_added() -> None:
    pairs = replace(call(1, 0.0, 1.0), order="pairwise", tree=((0, 1), (2, 3), (4, 5)))
    found = tree_plot([pairs])
    assert found is not None
    assert (found.terms, found.depth) == (4, 2)
    assert found.path.count("V") == 6
    assert found.path.count("H") == 3
    assert tree_plot([call(1, 0.0, 1.0)]) is None

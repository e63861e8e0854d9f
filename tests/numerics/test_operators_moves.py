"""Moves, choices and casts against NumPy and against what an uncertain operand may do."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from operator_calls import held, normal, one, value

from kernel_contracts.errors import ArithmeticScopeError
from kernel_contracts.formats import BF16, FORMATS, FP32
from kernel_contracts.numerics.bounded import BoundContext, Bounded
from kernel_contracts.numerics.builder import Builder
from kernel_contracts.numerics.interpret import Instance, bound, emulate, evaluate
from kernel_contracts.numerics.operators.base import EmulateContext
from kernel_contracts.numerics.rounding import round_to

# ---------------------------------------------------------------------------------------------------- movement


@pytest.mark.parametrize(
    ("size", "stride", "dilation"), [(1, 1, 1), (3, 1, 1), (3, 2, 1), (2, 3, 4), (4, 1, 2), (9, 1, 1)]
)
@pytest.mark.parametrize("axis", [0, 1])
def test_windows_read_the_elements_they_say(size: int, stride: int, dilation: int, axis: int) -> None:
    x = normal(9, 9)
    how = {"axis": axis, "size": size, "stride": stride, "dilation": dilation}
    y = value("windows", [x], dict(how))
    count = (9 - (size - 1) * dilation - 1) // stride + 1
    moved = np.moveaxis(x, axis, 0)
    expected = np.array([[moved[i * stride + k * dilation] for k in range(size)] for i in range(count)])
    # [window, k, other] -> the axis in place, k last
    expected = np.moveaxis(np.moveaxis(expected, 1, -1), 0, axis)
    np.testing.assert_array_equal(y, expected)
    assert one("windows", [x], dict(how)).program.nodes[-1].type.shape == y.shape


def test_windows_longer_than_the_array_give_none() -> None:
    assert value("windows", [normal(2, 3)], {"axis": 1, "size": 5, "stride": 1, "dilation": 1}).shape == (2, 0, 5)


@pytest.mark.parametrize("index", [[3], [-1], [0, 99]])
@pytest.mark.parametrize("name", ["gather", "take_along", "scatter"])
def test_an_index_outside_is_an_error_of_the_reference(name: str, index: list[int]) -> None:
    x, i = normal(3, 2), np.array(index)
    arrays = {
        "gather": [x, i], "take_along": [x, np.stack([i, i], axis=-1)], "scatter": [x, normal(len(index), 2), i],
    }[name]  # fmt: skip
    given = one(name, arrays, {"axis": 0})
    for run in (
        lambda: evaluate(given),
        lambda: bound(given, BoundContext()),
        lambda: emulate(given, EmulateContext()),
    ):
        with pytest.raises(ArithmeticScopeError, match="of 3 elements"):
            run()


def test_moves_are_numpys() -> None:
    x = normal(3, 4)
    cases: list[tuple[str, list[np.ndarray], dict[str, Any], np.ndarray]] = [
        ("reshape", [x], {"shape": (2, 6)}, x.reshape(2, 6)),
        ("transpose", [x], {"axes": None}, x.T),
        ("flip", [x], {"axis": 1}, x[:, ::-1]),
        ("expand", [x], {"axis": 1}, x[:, None, :]),
        ("slice", [x], {"axis": 1, "start": 1, "stop": None, "step": 2}, x[:, 1::2]),
        ("concat", [x, x[:1]], {"axis": 0}, np.concatenate([x, x[:1]])),
        (
            "pad",
            [x],
            {"axis": 0, "before": 1, "after": 2, "value": 7.0},
            np.pad(x, ((1, 2), (0, 0)), constant_values=7.0),
        ),
        ("broadcast", [x], {"shape": (2, 3, 4)}, np.broadcast_to(x, (2, 3, 4))),
        ("gather", [x, np.array([[2, 0], [1, 1]])], {"axis": 0}, x[[[2, 0], [1, 1]]]),
        (
            "take_along",
            [x, np.array([[0], [3], [1]])],
            {"axis": 1},
            np.take_along_axis(x, np.array([[0], [3], [1]]), 1),
        ),
        ("one_hot", [np.array([2, 0])], {"size": 3}, np.array([[0, 0, 1], [1, 0, 0]])),
        ("iota", [], {"size": 4}, np.arange(4)),
        ("full", [x[0, :1]], {"shape": (2, 1)}, np.broadcast_to(x[0, :1], (2, 1))),
    ]
    for name, arrays, attrs, expected in cases:
        given = one(name, arrays, dict(attrs))
        np.testing.assert_array_equal(value(name, arrays, dict(attrs)), expected, err_msg=name)
        np.testing.assert_array_equal(emulate(given, EmulateContext())["y"], expected, err_msg=name)
        assert given.program.nodes[given.program.outputs["y"]].type.shape == expected.shape, name
        assert bound(given, BoundContext())["y"].exact, name


def test_a_scatter_writes_rows_and_leaves_the_rest() -> None:
    x, rows = normal(4, 2), normal(2, 2)
    y = value("scatter", [x, rows, np.array([3, 1])], {"axis": 0})
    np.testing.assert_array_equal(y, np.stack([x[0], rows[1], x[2], rows[0]]))


def test_padding_is_held_in_the_format_of_the_array() -> None:
    b = Builder(FP32)
    x = b.input("x", BF16, (2,))
    program = b.finish({"y": b.op("pad", [x], {"axis": 0, "before": 1, "after": 0, "value": 0.1})}, ())
    assert evaluate(Instance(program, {}, {"x": np.ones(2)}, {}))["y"][0] == round_to(0.1, BF16)


# --------------------------------------------------------------------------------------------------- selection


def _scaled(x: np.ndarray, name: str, attrs: dict[str, Any]) -> Bounded:
    """A selection among products, which carry a radius."""
    b = Builder(FP32)
    node = b.op("mul", [b.input("x", FP32, x.shape), b.constant(1.1)])
    program = b.finish({"y": b.op(name, [node], attrs)}, ())
    return bound(Instance(program, {}, {"x": x}, {}), BoundContext())["y"]


def test_argmax_takes_the_first_of_exact_ties_and_any_contender_of_uncertain_ones() -> None:
    x = np.array([[1.0, 3.0, 3.0, 2.0], [5.0, 1.0, 1.0, 1.0]])
    exact = held("argmax", [x], {"axis": (1,), "keep": False})
    assert exact.v.tolist() == [1, 0]
    assert exact.exact
    unsure = _scaled(x, "argmax", {"axis": (1,), "keep": False})
    assert np.isinf(unsure.radius()).tolist() == [True, False]
    assert unsure.admissible is not None
    answers = {k: unsure.admissible(np.array([k, 0])).tolist() for k in (0, 1, 2, 3, -1, 4)}
    assert {k: a[0] for k, a in answers.items()} == {0: False, 1: True, 2: True, 3: False, -1: False, 4: False}
    kept = _scaled(x, "argmin", {"axis": (1,), "keep": True})
    assert kept.admissible is not None
    assert kept.admissible(np.array([[0], [3]])).tolist() == [[True], [True]]


def test_an_unknown_contender_may_win_and_hides_nobody_else() -> None:
    """An overflowed element may be anything, NaN included: every index that could then win is admitted."""
    x = np.array([[3.3e38, 1.0, 2.0]])
    unsure = _scaled(x, "argmax", {"axis": (1,), "keep": False})
    assert unsure.admissible is not None
    assert [bool(unsure.admissible(np.array([k]))[0]) for k in range(3)] == [True, False, True]


def test_comparisons_are_undetermined_where_the_intervals_meet() -> None:
    b = Builder(FP32)
    x = b.op("mul", [b.input("x", FP32, (3,)), b.constant(1.1)])
    program = b.finish({"y": b.op("less", [x, b.input("t", FP32, (3,))])}, ())
    values = {"x": np.array([1.0, 1.0, 1.0]), "t": round_to(np.array([1.1, 1.2, 1.0]), FP32)}
    result = bound(Instance(program, {}, values, {}), BoundContext())["y"]
    assert np.isinf(result.radius()).tolist() == [True, False, False]
    assert result.v[1:].tolist() == [True, False]


def test_the_minimum_with_a_positive_number_may_be_negative() -> None:
    """sqrt(min(x * y, 1)) of a product that may be below zero admits NaN, so everything."""
    b = Builder(FP32)
    product = b.op("sub", [b.op("mul", [b.input("x", FP32, (1,)), b.constant(1.1)]), b.constant(1.1)])
    program = b.finish({"y": b.op("sqrt", [b.op("minimum", [product, b.constant(1.0)])])}, ())
    result = bound(Instance(program, {}, {"x": np.ones(1)}, {}), BoundContext())["y"]
    assert np.isinf(result.radius()).all()


def test_casts_to_integers_wrap_and_are_undetermined_beside_a_step() -> None:
    x = np.array([2.9, -2.9, 130.0, -129.0, 256.0])
    assert value("cast", [x], {"format": FORMATS["int8"]}).tolist() == [2, -2, -126, 127, 0]
    unsure = _scaled(np.array([10.0, 10.5]), "cast", {"format": FORMATS["int8"]})
    assert np.isinf(unsure.radius()).tolist() == [True, False]
    truth = _scaled(np.array([0.0, 2.0]), "cast", {"format": FORMATS["bool"]})
    assert truth.v.tolist() == [False, True]
    assert np.isinf(truth.radius()).tolist() == [True, False]

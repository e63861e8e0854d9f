"""Sorting against NumPy, and the orders that it admits where elements are equal or uncertain."""

from __future__ import annotations

from itertools import permutations
from typing import Any

import numpy as np
import pytest
from operator_calls import held, normal, one, value

from kernel_contracts.errors import ArithmeticScopeError
from kernel_contracts.formats import FP32
from kernel_contracts.numerics.bounded import BoundContext, Bounded
from kernel_contracts.numerics.builder import Builder
from kernel_contracts.numerics.interpret import Instance, bound, emulate, evaluate
from kernel_contracts.numerics.operators.base import EmulateContext

TIES = np.array([[2.0, 1.0, 2.0, 0.0, 1.0, 2.0]])


@pytest.mark.parametrize("axis", [0, 1])
@pytest.mark.parametrize("descending", [False, True])
def test_sorting_is_numpys(axis: int, descending: bool) -> None:
    x = normal(7, 5)
    how = {"axis": axis, "descending": descending}
    expected = np.flip(np.sort(x, axis), axis) if descending else np.sort(x, axis)
    np.testing.assert_array_equal(value("sort", [x], dict(how)), expected)
    index = value("argsort", [x], dict(how))
    np.testing.assert_array_equal(np.take_along_axis(x, index, axis), expected)


@pytest.mark.parametrize(
    ("descending", "ties", "expected"),
    [
        (False, "first", [3, 1, 4, 0, 2, 5]), (False, "last", [3, 4, 1, 5, 2, 0]),
        (True, "first", [0, 2, 5, 1, 4, 3]), (True, "last", [5, 2, 0, 4, 1, 3]),
    ],
)  # fmt: skip
def test_which_of_equals_comes_first_is_stated(descending: bool, ties: str, expected: list[int]) -> None:
    found = held("argsort", [TIES], {"descending": descending, "ties": ties})
    assert found.v.tolist() == [expected]
    assert found.exact


@pytest.mark.parametrize(
    ("descending", "nan", "expected"),
    [(False, "largest", [2, 1, 3, 0, 4]), (True, "largest", [0, 4, 3, 1, 2]), (False, "smallest", [0, 4, 2, 1, 3])],
)
def test_nan_stands_where_it_is_stated(descending: bool, nan: str, expected: list[int]) -> None:
    x = np.array([np.nan, 1.0, -np.inf, np.inf, np.nan])
    assert held("argsort", [x], {"descending": descending, "nan": nan}).v.tolist() == expected
    np.testing.assert_array_equal(held("sort", [x], {"descending": descending, "nan": nan}).v, x[expected])


def test_the_first_few_are_those_of_the_whole() -> None:
    x = normal(4, 9)
    whole = value("argsort", [x], {"descending": True})
    np.testing.assert_array_equal(value("argsort", [x], {"descending": True, "size": 3}), whole[:, :3])
    assert one("sort", [x], {"size": 3}).program.nodes[-1].type.shape == (4, 3)
    with pytest.raises(ArithmeticScopeError, match="takes 10 of 9"):
        evaluate(one("sort", [x], {"size": 10}))


@pytest.mark.parametrize(("name", "choice"), [("ties", "random"), ("nan", "middle")])
def test_another_rule_is_refused(name: str, choice: str) -> None:
    with pytest.raises(ArithmeticScopeError, match=f"not {choice}"):
        one("argsort", [normal(3)], {name: choice})


def admitted(found: Bounded, answer: Any) -> bool:
    assert found.admissible is not None
    y = np.array(answer).reshape(found.v.shape)
    return bool((found.admissible(y) | (y == found.v) & (found.radius() == 0)).all())


def test_open_ties_admit_every_order_of_equals_and_each_index_once() -> None:
    found = held("argsort", [TIES], {"ties": "any"})
    right = [p for p in permutations(range(6)) if (np.diff(TIES[0][list(p)]) >= 0).all()]
    assert [p for p in permutations(range(6)) if admitted(found, p)] == right
    assert not admitted(found, [3, 1, 1, 0, 2, 5])
    assert not admitted(found, [3, 1, 4, 0, 2, 6])
    assert not admitted(found, [3, 1, 4, 0, 2, -1])


def test_open_ties_fall_differently_in_executions() -> None:
    given = one("argsort", [np.zeros((1, 50))], {"ties": "any"})
    orders = {tuple(emulate(given, EmulateContext(rng=np.random.default_rng(s)))["y"][0]) for s in range(5)}
    assert len(orders) == 5


def of_products(x: np.ndarray, attrs: dict[str, Any], name: str = "argsort") -> Bounded:
    """The order of products with 1.1 in fp32, which carry a radius."""
    b = Builder(FP32)
    program = b.finish({"y": b.op(name, [b.op("mul", [b.input("x", FP32, x.shape), b.constant(1.1)])], attrs)}, ())
    return bound(Instance(program, {}, {"x": x}, {}), BoundContext())["y"]


@pytest.mark.parametrize("descending", [False, True])
def test_numbers_within_a_rounding_of_each_other_may_stand_either_way(descending: bool) -> None:
    x = np.array([5.0, 1.0, 1.0 + 2.0**-23, 3.0])
    found = of_products(x, {"descending": descending})
    right = {(1, 2, 3, 0), (2, 1, 3, 0)}
    right = {p[::-1] for p in right} if descending else right
    assert {p for p in permutations(range(4)) if admitted(found, p)} == right
    assert np.isinf(found.radius()).sum() == 2


@pytest.mark.parametrize("nan", ["largest", "smallest"])
def test_an_unknown_element_may_stand_anywhere_and_keeps_the_others_in_order(nan: str) -> None:
    found = of_products(np.array([3.3e38, 1.0, 2.0]), {"nan": nan})
    assert {p for p in permutations(range(3)) if admitted(found, p)} == {(0, 1, 2), (1, 0, 2), (1, 2, 0)}


def test_sorted_numbers_are_as_far_off_as_the_widest() -> None:
    found = of_products(np.array([[4.0, 1.0]]), {"axis": 1}, "sort")
    single = of_products(np.array([[4.0]]), {"axis": 1}, "sort")
    assert found.radius().tolist() == [[single.radius()[0, 0]] * 2]
    assert held("sort", [np.array([4.0, 1.0])], {}).exact


# ------------------------------------------------------------------------------------------ budgets in ulp of 1


def test_a_budget_in_ulp_of_one_is_the_same_at_every_argument() -> None:
    x = np.array([1e-6, 0.5, 4.0])
    relative = held("erf", [x]).radius()
    absolute = held("erf", [x], absolute=frozenset({"erf"})).radius()
    assert absolute.min() >= 32 * FP32.u
    assert absolute.max() <= 34 * FP32.u
    assert relative[0] < 1e-5 * absolute[0]

"""Mutants of orders do what they say: the other of two equals, NaN at the other end."""

from __future__ import annotations

import numpy as np
import pytest
from mutant_programs import mutate, only, program, value

X = np.array([[1.0, 3.0, 3.0, 1.0]])


@pytest.mark.parametrize(("call", "right", "wrong"), [
    ("argmax(x, axis = -1)", [1], [2]),
    ("argmin(x, axis = -1)", [0], [3]),
])  # fmt: skip
def test_the_last_of_equal_extremes_is_named(call: str, right: list[int], wrong: list[int]) -> None:
    given = program("f (x: fp32[M, N]) -> y: int64[M]", f"y = {call}")
    assert value(given, x=X).tolist() == right
    assert value(only(given, "other_tie"), x=X).tolist() == wrong


def test_equals_are_sorted_the_other_way() -> None:
    given = program("f (x: fp32[M, N]) -> y: int64[M, N]", "y = argsort(x, axis = -1, ties = first)")
    assert value(only(given, "other_tie"), x=X).tolist() == [[3, 0, 2, 1]]
    open_ties = program("f (x: fp32[M, N]) -> y: int64[M, N]", "y = argsort(x, axis = -1, ties = any)")
    assert mutate(open_ties, "other_tie") == []


def test_nan_is_sorted_to_the_other_end() -> None:
    given = program("f (x: fp32[M, N]) -> y: fp32[M, N]", "y = sort(x, axis = -1, nan = largest)")
    x = np.array([[np.nan, 2.0, 1.0]])
    np.testing.assert_array_equal(value(only(given, "nan_order"), x=x), [[np.nan, 1.0, 2.0]])

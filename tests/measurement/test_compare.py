"""A candidate's output beside what is admitted: what counts as wrong, and the story told of it."""

from __future__ import annotations

import numpy as np
import pytest

from kernel_contracts.formats import FORMATS
from kernel_contracts.measurement.compare import constant_outputs, read
from kernel_contracts.numerics.acceptance import Acceptance

FP32, INT = FORMATS["fp32"], FORMATS["int64"]


def admitted(center: object, radius: object = 0.5, free: object = False) -> Acceptance:
    c = np.asarray(center, dtype=np.float64)
    r = np.broadcast_to(np.asarray(radius, dtype=np.float64), c.shape)
    return Acceptance(FP32, c, -r, r, np.broadcast_to(np.asarray(free), c.shape), r)


def test_a_right_answer_has_no_story() -> None:
    found = read("y", np.array([1.0, 2.5]), admitted([1.0, 2.0]), own_error=0.001)
    assert (found.size, found.exceeding, found.ratio, found.own_error) == (2, 0, 1.0, 0.001)
    assert (found.worst, found.region, found.boundary) == (None, {}, {})


def test_the_worst_element_is_named() -> None:
    found = read("y", np.array([[1.0, 2.0], [4.0, 3.6]]), admitted([[1.0, 2.0], [3.0, 3.0]]))
    worst = found.worst
    assert worst is not None
    assert (worst.output, worst.index, worst.got, worst.oracle, worst.tolerance, worst.ratio) == (
        "y",
        (1, 0),
        4,
        3,
        0.5,
        2,
    )
    assert (found.exceeding, found.ratio) == (2, 2.0)
    assert found.region == {"axis 0": (1, 1), "axis 1": (0, 1)}


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_nan_and_stray_infinities_are_never_a_pass(bad: float) -> None:
    found = read("y", np.array([bad, 1.0]), admitted([1.0, 1.0], 1e300))
    assert (found.exceeding, found.nonfinite, found.ratio) == (1, 1, np.inf)
    assert read("y", np.array([bad]), admitted([1.0], free=True)).exceeding == 0
    assert read("y", np.array([np.inf]), admitted([np.inf], 0.0)).ratio == 0.0
    assert read("y", np.array([-np.inf]), admitted([np.inf], 0.0)).ratio == np.inf
    assert read("y", np.array([1.0]), admitted([np.inf], 0.0)).nonfinite == 0


def test_exact_elements_are_counted_apart() -> None:
    found = read("y", np.array([1.0, 2.0, 3.5, 9.0]), admitted([1.0, 2.5, 3.0, 4.0], [0.0, 0.0, 0.5, 0.5]))
    assert (found.exact, found.exact_wrong, found.exceeding) == (2, 1, 2)
    assert read("y", np.array([1.0]), admitted([1.0], 0.0)).ratio == 0.0, "0/0 is 0"


def test_elements_that_admit_everything_are_counted() -> None:
    found = read("y", np.array([7.0, 7.0]), admitted([1.0, 1.0], 0.5, [True, False]))
    assert (found.undetermined, found.exceeding, found.ratio) == (1, 1, 12.0)


def test_zeros_where_something_is_due() -> None:
    found = read("y", np.array([0.0, 0.0, 0.2]), admitted([1.0, 0.0, 5.0]))
    assert (found.zeros, found.exceeding) == (1, 2)


@pytest.mark.parametrize(
    ("wrong", "boundary"),
    [
        (np.s_[6:], {"axis 0": 6}),
        (np.s_[:, 3:], {"axis 1": 3}),
        (np.s_[6:, 3:], {}),
        (np.s_[4:7], {}),
        (np.s_[:], {}),
        (np.s_[5:7], {}),
        (np.s_[::2], {}),
    ],
)
def test_a_dropped_tail_is_seen(wrong: object, boundary: dict[str, int]) -> None:
    y = np.ones((8, 5))
    y[wrong] = 9.0
    assert read("y", y, admitted(np.ones((8, 5)))).boundary == boundary


def test_integers_and_truth_values_are_compared_exactly() -> None:
    center = np.array([1, 2, 3])
    zero = np.zeros(3)
    acceptance = Acceptance(INT, center, zero, zero, np.array([False, False, True]), zero)
    found = read("y", np.array([1, 5, 9]), acceptance)
    assert (found.exceeding, found.ratio, found.undetermined) == (1, np.inf, 1)
    either = Acceptance(INT, center, zero, zero, np.array([False, False, True]), zero, lambda y: y < 5)
    assert read("y", np.array([1, 2, 9]), either).exceeding == 1
    assert read("y", np.array([1, 2, 4]), either).exceeding == 0


def test_empty_outputs_and_scalars() -> None:
    assert read("y", np.zeros((0, 3)), admitted(np.zeros((0, 3)))).size == 0
    found = read("y", np.asarray(3.0), admitted(1.0))
    assert found.worst is not None
    assert found.worst.index == ()
    assert found.region == {}


def test_constant_outputs() -> None:
    ones, rising = np.ones(4), np.arange(4.0)
    assert constant_outputs({"y": ones}, {"y": rising}) == {"output_constant": 1.0, "oracle_constant": 0.0}
    assert constant_outputs({"y": rising}, {"y": ones}) == {"output_constant": 0.0, "oracle_constant": 1.0}
    assert constant_outputs({"y": ones, "z": ones * 2}, {"y": rising})["output_constant"] == 0.0
    assert constant_outputs({"y": np.ones(1)}, {"y": np.ones(1)}) == {}
    assert constant_outputs({"y": ones}, {}) == {"output_constant": 1.0, "oracle_constant": 1.0}

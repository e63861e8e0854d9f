"""Where errors lie: a coarse map of ratios, cut at powers of two."""

from __future__ import annotations

import json

import numpy as np
import pytest

from kernel_contracts.contracts.evidence import OutputReading
from kernel_contracts.formats import FORMATS
from kernel_contracts.measurement.compare import read
from kernel_contracts.measurement.extent import BLOCKS
from kernel_contracts.numerics.acceptance import Acceptance
from kernel_contracts.report.records import _reading


def reading(y: np.ndarray, center: np.ndarray, error: float) -> OutputReading:
    radius = np.full(center.shape, error)
    return read("y", y, Acceptance(FORMATS["fp64"], center, -radius, radius, np.zeros(center.shape, bool), radius))


def test_a_wrong_tail_is_seen_in_the_last_blocks_alone() -> None:
    y, center = np.zeros((5, 37)), np.ones((5, 37))
    y[:, :32] = 1.0
    found = reading(y, center, 0.25).extent
    assert found is not None
    assert (found.plane, found.blocks) == ((5, 37), (1, 4))
    assert len(found.map) == 5
    assert len(found.map[0]) == 10
    for row in found.map:
        assert row[:8] == (0.0,) * 8
        assert row[8] > 1 < row[9]
    assert found.residual == 1.0
    assert found.tolerance == pytest.approx(0.25)


def test_leading_axes_lie_on_top_of_each_other_and_the_largest_ratio_wins() -> None:
    y = np.zeros((3, 2, 2))
    y[0, 0, 0], y[2, 0, 0], y[1, 1, 1] = 0.1, 0.2, 0.05
    found = reading(y, np.zeros((3, 2, 2)), 0.4).extent
    assert found is not None
    assert found.map[0][0] == pytest.approx(0.5)
    assert found.map[1] == (0.0, pytest.approx(0.125))


def test_a_right_answer_has_no_map_and_an_empty_one_no_extent() -> None:
    right = reading(np.ones(3), np.ones(3), 0.1).extent
    assert right is not None
    assert right.map == ()
    assert right.plane == (1, 3)
    assert reading(np.ones((0, 3)), np.ones((0, 3)), 0.1).extent is None


@pytest.mark.parametrize("n", [1, 15, 16, 17, 255, 256, 257, 4097])
def test_no_axis_has_more_blocks_than_a_picture_shows(n: int) -> None:
    y = np.ones(n)
    y[-1] = 3.0
    found = reading(y, np.ones(n), 0.5).extent
    assert found is not None
    width = found.blocks[1]
    assert width & (width - 1) == 0
    assert len(found.map[0]) == -(-n // width) <= BLOCKS
    assert found.map[0][-1] > 1


def test_the_record_of_an_infinite_ratio_is_strict_json() -> None:
    record = _reading(reading(np.array([np.nan, 1.0]), np.ones(2), 0.5))
    assert record["extent"]["map"] == [["inf", 0.0]]
    assert record["extent"]["residual"] == "nan"
    json.dumps(record, allow_nan=False)

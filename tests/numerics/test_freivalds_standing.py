"""Rows that stand out of their own product: which are looked at, how often in vain, and what that finds."""

from __future__ import annotations

from statistics import NormalDist

import numpy as np
import pytest

from kernel_contracts.numerics.freivalds import product
from kernel_contracts.numerics.freivalds.product import check_product
from kernel_contracts.numerics.freivalds.standing import LOOKS, MOST, standing

RNG = np.random.default_rng(3)


def normal(rows: int, scale: float = 0.1) -> np.ndarray:
    return np.abs(RNG.standard_normal((rows, 1))) * scale


def test_a_row_that_stands_out_is_named_and_the_usual_spread_is_found() -> None:
    z = normal(2000)
    z[17] = 0.9
    found = standing(z, 7.5)
    assert found.places == ((17,),)
    assert found.scale[0] == pytest.approx(0.1, rel=0.1)
    assert 0.4 < found.limit[0] < 0.55


def test_honest_rows_are_rarely_looked_at() -> None:
    assert sum(bool(standing(normal(500), 7.5).places) for _ in range(400)) <= 20


def test_few_rows_say_nothing_about_what_is_usual() -> None:
    z = normal(20)
    z[3] = 5
    found = standing(z, 7.5)
    assert found.places == ()
    assert found.limit[0] == 7.5


def test_what_passes_the_threshold_is_left_to_it_and_wrong_everywhere_is_not_usual() -> None:
    z = normal(100)
    z[4] = 8
    assert standing(z, 7.5).places == ()
    far = NormalDist().inv_cdf(1 - LOOKS / 200)
    assert standing(normal(100, 2.0) * 0 + 1.5, 7.5).limit[0] == pytest.approx(far, rel=0.01)


def test_at_most_so_many_rows_and_the_limit_says_where_looking_ends() -> None:
    z = normal(300)
    z[:20, 0] = np.linspace(1, 2, 20)
    found = standing(z, 7.5)
    assert found.places == tuple((row,) for row in range(19, 19 - MOST, -1))
    assert found.limit[0] == pytest.approx(z[19 - MOST, 0])


def test_batches_share_what_is_usual() -> None:
    z = normal(6 * 40).reshape(2, 3, 40, 1)
    z[1, 2, 7] = 0.9
    assert standing(z, 7.5).places == ((1, 2, 7),)


def test_rows_of_zeros_make_any_residual_stand_out() -> None:
    z = np.zeros((100, 1))
    z[5] = 1e-9
    assert standing(z, 7.5).places == ((5,),)


def test_undefined_residuals_do_not_stand_in_the_way() -> None:
    z = normal(100)
    z[:60] = np.nan
    assert standing(z, 7.5).limit[0] == 7.5


def test_what_the_threshold_alone_would_miss_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    a, b = RNG.standard_normal((256, 2048), dtype=np.float32), RNG.standard_normal((2048, 64), dtype=np.float32)
    c = a @ b
    clean = check_product(a, b, c, seed=1)
    assert clean.limit < clean.threshold / 2
    wrong = [c.copy() for _ in range(12)]
    for j, w in enumerate(wrong):
        w[9, j] += np.float32(1.1 * clean.floor_absolute)
        assert [(f.row, f.column) for f in check_product(a, b, w, seed=j).faults] == [(9, j)]
    monkeypatch.setattr(product, "standing", lambda z, threshold: standing(z[:1], threshold))
    assert sum(check_product(a, b, w, seed=j).ok for j, w in enumerate(wrong)) >= 3


def test_no_error_is_lost_between_the_rows_that_stand_out_and_those_beyond_the_threshold() -> None:
    """A residual just beyond the threshold lies just below it in the second look, which takes variances anew."""
    a, b = RNG.standard_normal((256, 2048), dtype=np.float32), RNG.standard_normal((2048, 64), dtype=np.float32)
    c = a @ b
    clean = check_product(a, b, c, seed=1)
    assert clean.sensitivity is not None
    deviation = float(np.sqrt(np.median(clean.sensitivity.variance)))
    for seed, share in enumerate(np.linspace(0.85, 1.25, 81)):
        wrong = c.copy()
        wrong[9, 5] += np.float32(share * clean.threshold * deviation)
        if abs(float(wrong[9, 5]) - float(c[9, 5])) > clean.floor_absolute:
            result = check_product(a, b, wrong, seed=seed)
            assert [(f.row, f.column) for f in result.faults] == [(9, 5)], share

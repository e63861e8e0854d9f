"""Repair gives the bits of a recomputation, in the wrong rows alone."""

from __future__ import annotations

import numpy as np

from kernel_contracts.numerics.freivalds.repair import repair

RNG = np.random.default_rng(1)
A = RNG.standard_normal((2, 50, 80), dtype=np.float32)
B = RNG.standard_normal((2, 80, 40), dtype=np.float32)
C = A @ B


def test_a_wrong_row_gets_the_bits_of_a_recomputation() -> None:
    wrong = C.copy()
    wrong[1, 7, 8] += 1
    kept = wrong.copy()
    done = repair(A, B, wrong, seed=1)
    assert done.ok
    assert not done.before.ok
    assert done.rows == ((1, 7),)
    assert np.array_equal(done.value.view(np.uint32), C.view(np.uint32))
    assert np.array_equal(wrong, kept), "the candidate is not written to"


def test_a_right_product_is_left_alone() -> None:
    done = repair(A, B, C, lambda: 1 / 0, seed=1)
    assert done.ok
    assert done.rows == ()
    assert done.value is C


def test_many_wrong_rows() -> None:
    wrong = C.copy()
    wrong[0] = 0
    wrong[1, 3] = np.nan
    done = repair(A, B, wrong, seed=1)
    assert done.ok
    assert np.array_equal(done.value, C)


def test_a_kernel_that_is_wrong_every_time_is_not_repaired() -> None:
    wrong = C.copy()
    wrong[0, 3, 3] = 9
    done = repair(A, B, wrong, lambda: wrong, seed=1)
    assert not done.ok

"""O15: a bound sampled from a few orders of summation rejects right results; the derived one admits every order."""

from __future__ import annotations

import numpy as np

from kernel_contracts.assertions import AssertOptions
from kernel_contracts.tolerances import tolerance

TRIALS, TERMS, ORDERS = 200, 16, 20


def in_order(x: np.ndarray) -> np.ndarray:
    return np.add.accumulate(x, axis=-1)[..., -1]


def sorted_by(x: np.ndarray, key: np.ndarray) -> np.ndarray:
    return np.take_along_axis(x, np.argsort(key, axis=-1), axis=-1)


def test_sampled_bound_rejects_what_the_derived_one_admits() -> None:
    rng = np.random.default_rng(15)
    x = rng.uniform(-500, 500, (TRIALS, TERMS)).astype(np.float32)
    five = [x, x[:, ::-1], sorted_by(x, x), sorted_by(x, -x), sorted_by(x, np.abs(x))]
    results = np.stack([in_order(v).astype(np.float64) for v in five])
    sampled = results.max(axis=0) - results.min(axis=0)
    others = np.stack([in_order(rng.permuted(x, axis=-1)).astype(np.float64) for _ in range(ORDERS)])
    rejected = (np.abs(others - results[0]) > sampled).any(axis=0)
    assert 20 < rejected.sum() < 120  # 548 of 2000 in the report

    exact = x.astype(np.float64).sum(axis=-1)
    radius = tolerance("sum", x, options=AssertOptions(classes=("C-PRC-01",)))
    share = np.abs(others - exact) / radius
    assert share.max() < 1.0
    by_hand = (TERMS - 1) * 2.0**-24 * np.abs(x).sum(axis=-1, dtype=np.float64)
    assert (radius >= 0.99 * by_hand).all()
    assert (np.abs(others - exact) / by_hand).max() < 0.5

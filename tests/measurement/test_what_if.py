"""What a wrong answer would be under looser contracts: read off the bound alone, and named by it."""

from __future__ import annotations

from typing import Any

import kernels_in_process as kp
import numpy as np
import pytest

from kernel_contracts.classes import classes
from kernel_contracts.contracts.evidence import Observation
from kernel_contracts.measurement.known import Known
from kernel_contracts.measurement.session import Session

HALVES = kp.written("f for P in {fp32} (x: P[M, N]) -> y: P[M, N]", "y = x * 0.5 in fp32", "M, N in 1..64")
SUM = kp.written("f for P in {fp32} (x: P[M, N]) -> y: P[M]", "y = sum(x, axis = -1) in fp32", "M, N in 1..4096",
                 tolerance="derived with summation = pairwise")  # fmt: skip
LEAST = np.finfo(np.float32).smallest_normal
SMALL = np.array([[LEAST, 3 * LEAST, LEAST, 1.0]])


def seen(kernel: Any) -> Observation:
    """Halves of numbers two of which fall below the least normal one."""
    return kp.session(HALVES, kernel).measure_on(kp.case(HALVES, "normal", 3, M=1, N=4), {"x": SMALL})


def flushing(x: Any) -> Any:
    y = x * np.float32(0.5)
    return np.where(np.abs(y) < LEAST, np.float32(0), y)


def test_a_kernel_that_flushes_is_right_where_flushing_is_allowed_and_named_by_it() -> None:
    found = seen(flushing)
    assert found.violating
    assert found.readings["flushing_ratio"] <= 1
    told = classes()["C-CMP-01"].judge(*HALVES, [found]).signature
    assert told is not None
    assert told.name == "result_flushed"
    assert "5.88e-39 is due" in told.detail


def test_a_kernel_that_is_wrong_elsewhere_is_not_excused() -> None:
    found = seen(lambda x: np.where(x == 1, np.float32(0.75), flushing(x)))
    assert found.readings["flushing_ratio"] > 1
    told = classes()["C-CMP-01"].judge(*HALVES, [found]).signature
    assert told is not None
    assert told.name != "result_flushed"
    assert "flushing_ratio" not in seen(lambda x: x * np.float32(0.5)).readings


def test_a_longer_sum_than_declared_is_right_in_any_order(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[Any] = []
    plain = Session._asked
    monkeypatch.setattr(Session, "_asked", lambda self, i: (asked.append(i), plain(self, i))[1])
    x = np.full((1, 4096), np.float32(0.1), np.float64)
    run = kp.session(SUM, lambda x: np.cumsum(x, axis=-1, dtype=np.float32)[:, -1])
    found = run.measure_on(kp.case(SUM, "normal", 3, M=1, N=4096), {"x": x})
    assert found.violating
    assert found.readings["any_order_ratio"] <= 1 < found.ratio
    assert len(asked) == 1, "the oracle is asked once"


def test_looser_contracts_are_worked_out_once_for_all_kernels() -> None:
    shared, shown = Known(), []
    kernels = (flushing, lambda x: np.where(x == 1, np.float32(0.75), flushing(x)), lambda x: x * np.float32(0.25))
    for known in (None, shared, shared):
        for kernel in kernels:
            run = kp.session(HALVES, kernel)
            run.known = known
            found = run.measure_on(kp.case(HALVES, "normal", 3, M=1, N=4), {"x": SMALL})
            shown.append({n: r for n, r in found.readings.items() if n.endswith("_ratio")})
    assert shown[:3] == shown[3:6] == shown[6:]
    assert len({r["flushing_ratio"] for r in shown[:3]}) == 2
    looser = shared.looser("flushing_ratio")
    assert looser is shared.looser("flushing_ratio")
    assert looser.left < shared.looser("any_order_ratio").left, "something is kept, and apart"

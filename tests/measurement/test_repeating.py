"""Repetition: all pairs compared, each axis told apart, and no setting accused where the call itself is unsteady."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import kernels_in_process as kp
import numpy as np
import pytest

from kernel_contracts.contracts.evidence import Layout, Observation, Outcome
from kernel_contracts.measurement.experiments import experiments
from kernel_contracts.measurement.faults import faults
from kernel_contracts.measurement.load import background_load
from kernel_contracts.measurement.repeating import batch_dim, bits, differing, repeat, spread
from kernel_contracts.measurement.session import Session
from kernel_contracts.states import kernels_of

SUM = kp.contract("sum-determinism")
MATMUL = kp.contract("matmul-determinism")
ADDS = kp.contract("scatter-add-determinism")
AXES = {"runs": (4,), "threads": (1, 2, 4), "alignment": (), "batch": ()}


def steady(x: Any) -> Any:
    return np.sum(x, axis=-1)


def seen(kernel: Any, axes: Mapping[str, tuple[int, ...]], **dims: int) -> dict[str, str]:
    session = kp.session(SUM, kernel)
    case = kp.case(SUM, "wide(20)", 3, **(dims or {"R": 3, "N": 500}))
    return dict(differing(repeat(session, case, session.inputs(case), axes)))


def fault(name: str) -> Any:
    return faults()[name].wrap(*SUM, kp.Function(steady), ())


def test_a_steady_kernel_differs_nowhere() -> None:
    assert seen(steady, {"runs": (6,), "alignment": (), "layouts": ()}) == {}


@pytest.mark.parametrize(
    ("name", "axis"),
    [
        ("arrival", "runs"),
        ("fold_by_threads", "threads"),
        ("vector_if_aligned", "alignment"),
        ("split_if_few_rows", "batch"),
    ],
)
def test_each_fault_shows_along_its_own_axis_and_no_other(name: str, axis: str) -> None:
    assert set(seen(fault(name), AXES)) == {axis}


def test_a_kernel_that_waits_for_others_differs_under_load_alone() -> None:
    axes = {"runs": (6,), "load": (6,)}
    assert set(seen(fault("arrival_under_load"), axes)) == {"load"}
    assert seen(fault("fold_by_threads"), axes) == {}


def test_every_pair_counts_and_not_only_those_with_the_first_call() -> None:
    calls = iter([0.0, 0.0, 0.0, 1.0, 0.0, 0.0])

    def late(x: Any) -> Any:
        return np.sum(x, axis=-1) + np.float32(next(calls))

    assert seen(late, {"runs": (6,)}) == {"runs": "6 calls (the same call) gave 2 answers"}


def test_an_unsteady_kernel_is_not_also_accused_of_its_settings() -> None:
    rng = np.random.default_rng(0)

    def drifting(x: Any) -> Any:
        return np.sum(x, axis=-1) + rng.random(x.shape[0], dtype=np.float32)

    assert set(seen(drifting, {"runs": (3,), "alignment": (), "batch": ()})) == {"runs"}


def test_a_kernel_that_raises_later_is_reported_as_that() -> None:
    count = iter(range(100))

    def tired(x: Any) -> Any:
        if next(count) > 2:
            from kernel_contracts.measurement.calls import CallResult

            return CallResult(Outcome.RAISED, "RuntimeError: tired")
        return np.sum(x, axis=-1)

    session = kp.session(SUM, tired)
    found = experiments()["repeats"].measure(session, kp.case(SUM, R=2, N=20))
    assert found.outcome is Outcome.RAISED
    assert found.detail == "RuntimeError: tired (the same call)"


def measured(kernel: Callable[..., Any] | Any) -> Observation:
    return experiments()["repeats"].measure(kp.session(SUM, kernel), kp.case(SUM, "wide(20)", 3, R=2, N=300))


def test_an_observation_carries_facts_counts_and_the_defect() -> None:
    good, bad = measured(steady), measured(fault("arrival"))
    assert good.facts == {"runs": "same", "alignment": "same"}
    assert (good.readings["answers"], good.readings["spread"], good.defect) == (1.0, 0.0, "")
    assert bad.defect == "run_dependent"
    assert bad.readings["answers"] > 1
    assert 0 < bad.readings["spread"] < 1e-4
    assert bad.violating
    assert "alignment" not in bad.facts


def test_the_batch_is_the_size_whose_rows_are_independent() -> None:
    assert batch_dim(SUM[0]) == "R"
    assert batch_dim(MATMUL[0]) == "M"
    assert batch_dim(ADDS[0]) is None
    assert batch_dim(kp.contract("sum-pairwise")[0]) == "R"


def test_bits_tell_zeros_apart_and_nans_not() -> None:
    one = {"y": np.array([0.0, np.nan])}
    assert bits(one) != bits({"y": np.array([-0.0, np.nan])})
    assert bits(one) == bits({"y": np.array([0.0, -np.nan])})


def test_the_spread_is_relative_and_takes_all_answers() -> None:
    answers = [{"y": np.array([1.0, 100.0])}, {"y": np.array([1.0, 101.0])}, {"y": np.array([1.5, 100.0])}]
    assert spread(answers) == pytest.approx(0.5 / 1.5)
    assert spread(answers[:1]) == 0.0
    assert spread([{"y": np.array([0.0])}, {"y": np.array([np.inf])}]) == np.inf


def test_our_own_kernel_keeps_to_one_order_where_repetition_is_measured() -> None:
    good = next(e for e in SUM[0].calibrate if e.state == "good")
    (kernel,) = kernels_of(*SUM, good)
    session = Session(*SUM, kernel, ())
    case = kp.case(SUM, "wide(20)", 3, R=2, N=300)
    inputs = session.inputs(case)
    answers = {bits(session.called(case, inputs)[1]) for _ in range(6)}
    assert len(answers) == 1
    assert case.layout is Layout.CONTIGUOUS


def test_background_load_ends_with_its_block() -> None:
    import subprocess

    started: list[subprocess.Popen[bytes]] = []
    real = subprocess.Popen

    class Kept(real):  # type: ignore[type-arg,misc,valid-type]
        def __init__(self, *args: Any, **kwargs: Any) -> None:
            super().__init__(*args, **kwargs)
            started.append(self)

    subprocess.Popen = Kept  # type: ignore[misc]
    try:
        with background_load(2):
            assert all(p.poll() is None for p in started)
    finally:
        subprocess.Popen = real  # type: ignore[misc]
    assert len(started) == 2
    assert all(p.poll() is not None for p in started)

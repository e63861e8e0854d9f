"""Shrinking a failure: the smallest case that still fails in the same way."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import kernels_in_process as kp
import numpy as np
import pytest

from kernel_contracts.checking import Options, check_contract
from kernel_contracts.classes.judging import fails
from kernel_contracts.contracts.evidence import Case, Layout, Observation, Outcome
from kernel_contracts.contracts.precondition import holds
from kernel_contracts.measurement.calls import CallResult
from kernel_contracts.measurement.minimise import ATTEMPTS, shrink

GEMM = kp.contract("gemm-accumulator")
NORM = kp.contract("layernorm-stable")


def shrunk(pair: Any, kernel: Callable[..., Any], first: Case, **given: Any) -> tuple[Observation, int]:
    """The smallest failure found, and the number of calls that took."""
    run = kp.session(pair, kernel)
    seen = run.measure(first)
    assert fails(seen)
    before = len(run.kernel.calls)  # type: ignore[attr-defined]
    best = shrink(pair[0], seen, run.measure, fails, **given)
    assert fails(best)
    return best, len(run.kernel.calls) - before  # type: ignore[attr-defined]


def long_sums_are_wrong(a: Any, b: Any) -> Any:
    return a @ b + np.float32(a.shape[1] > 40)


@pytest.mark.parametrize("seed", range(4))
def test_a_failure_of_long_sums_shrinks_to_the_shortest(seed: int) -> None:
    best, calls = shrunk(GEMM, long_sums_are_wrong, kp.case(GEMM, seed=seed, M=48, K=300, N=65))
    assert best.case.dims["K"] == 41
    assert (best.case.dims["M"], best.case.dims["N"]) == (1, 1)
    assert calls <= ATTEMPTS


def test_the_layout_and_parameters_become_plain() -> None:
    def kernel(x: Any, gamma: Any, beta: Any, eps: float) -> Any:
        return np.zeros_like(x)

    start = kp.case(NORM, layout=Layout.OFFSET, scalars={"eps": 0.25}, R=9, N=12)
    best, _ = shrunk(NORM, kernel, start)
    assert best.case.layout is Layout.CONTIGUOUS
    assert best.case.scalars == NORM[0].defaults()
    assert holds(NORM[0].pre, dict(best.case.dims), dict(best.case.scalars))


def test_a_layout_that_matters_stays() -> None:
    run = kp.session(GEMM, np.matmul)

    def measure(case: Case) -> Observation:
        run.kernel = kp.Function(lambda a, b: a @ b + np.float32(case.layout is not Layout.CONTIGUOUS))
        return run.measure(case)

    first = measure(kp.case(GEMM, layout=Layout.STRIDED, M=8, K=8, N=8))
    best = shrink(GEMM[0], first, measure, fails)
    assert best.case.layout is Layout.STRIDED
    assert best.case.work == 1


def test_a_smaller_case_must_fail_in_the_same_way() -> None:
    def kernel(a: Any, b: Any) -> Any:
        if a.shape[1] < 20:
            return CallResult(Outcome.CRASHED, "killed by SIGSEGV")
        return a @ b + np.float32(1)

    best, _ = shrunk(GEMM, kernel, kp.case(GEMM, M=4, K=64, N=4))
    assert best.outcome is Outcome.RETURNED
    assert best.case.dims["K"] >= 20

    def typed(a: Any, b: Any) -> Any:
        return (a @ b).astype(np.float64) if a.shape[0] > 2 else a @ b + np.float32(1)

    best, _ = shrunk(GEMM, typed, kp.case(GEMM, M=8, K=8, N=8))
    assert best.defect == "wrong_dtype"
    assert best.case.dims["M"] == 3


def test_where_nothing_smaller_fails_the_first_stays() -> None:
    best, _ = shrunk(GEMM, lambda a, b: a @ b + np.float32(a.shape == (7, 5)), kp.case(GEMM, M=7, K=5, N=1))
    assert best.case.dims == {"M": 7, "K": 5, "N": 1}


def test_the_number_of_attempts_is_kept() -> None:
    _, calls = shrunk(
        GEMM, lambda a, b: CallResult(Outcome.HUNG, "1 s"), kp.case(GEMM, M=900, K=900, N=900), attempts=2
    )
    assert calls == 2


def test_the_precondition_is_kept() -> None:
    pair = kp.written("f (x: fp32[N]) -> y: fp32[N]", "y = x + x in fp32", "N in 8..512 and N % 8 == 0")
    best, _ = shrunk(pair, lambda x: x, kp.case(pair, N=512))
    assert best.case.dims["N"] % 8 == 0
    assert best.case.dims["N"] < 512


def test_sizes_of_a_finite_set_and_of_a_high_range_shrink_too() -> None:
    pair = kp.written(
        "f (x: fp32[M, N]) -> y: fp32[M, N]", "y = x + x in fp32", "M in {128, 256, 512} and N in 300..900"
    )
    best, _ = shrunk(pair, lambda x: x, kp.case(pair, M=512, N=900))
    assert best.case.dims == {"M": 128, "N": 300}


def test_a_hang_is_shrunk_within_two_calls() -> None:
    """Each of them takes the whole time limit; a crash is over at once and may be looked into further."""
    calls = {}
    for outcome in (Outcome.HUNG, Outcome.CRASHED):
        kernel = kp.Function(lambda a, b, outcome=outcome: CallResult(outcome, "1 s"))
        found = check_contract(*GEMM, kernel, Options(samples=12), seed=3)
        assert found.finding.witness is not None
        assert found.finding.witness.outcome is outcome
        calls[outcome] = len(kernel.calls) - sum(not o.skipped for o in found.observations)
    assert calls[Outcome.HUNG] == 2
    assert 2 < calls[Outcome.CRASHED] <= 5

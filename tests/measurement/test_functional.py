"""The ordinary test that a silently bad kernel passes: usual shapes, N(0, 1), fixed tolerances."""

from __future__ import annotations

from typing import Any

import kernels_in_process as kp
import numpy as np
import pytest

from kernel_contracts.contracts.evidence import Outcome
from kernel_contracts.formats import FORMATS
from kernel_contracts.measurement.calls import CallResult
from kernel_contracts.measurement.emulated import Emulated, Fixed
from kernel_contracts.measurement.functional import DEFAULTS, close, passes

GEMM = kp.contract("gemm-accumulator")
SOFTMAX = kp.contract("softmax-stable")


@pytest.mark.parametrize("name", ["fp64", "fp32", "fp16", "bf16"])
def test_close_is_what_the_usual_assertion_says(name: str) -> None:
    rtol, atol = DEFAULTS[name]
    fmt, one = FORMATS[name], np.array([1.0])
    assert close(one * (1 + rtol), one, fmt)
    assert not close(one * (1 + 2 * rtol + 2 * atol), one, fmt)
    assert close(np.array([atol]), np.zeros(1), fmt)
    assert not close(np.array([np.nan]), one, fmt)
    assert close(np.array([np.inf]), np.array([np.inf]), fmt)
    assert not close(np.array([np.inf]), one, fmt)


@pytest.mark.torch
def test_close_agrees_with_torch() -> None:
    torch = pytest.importorskip("torch")
    rng = np.random.default_rng(5)
    for name, dtype in (("fp32", torch.float32), ("fp64", torch.float64)):
        for scale in (1e-9, 1e-7, 1e-6, 2e-6, 1e-5, 1e-4):
            x = rng.normal(size=20).astype(np.float32 if name == "fp32" else np.float64)
            y = (x * (1 + scale)).astype(x.dtype)
            try:
                torch.testing.assert_close(torch.tensor(y, dtype=dtype), torch.tensor(x, dtype=dtype))
                said = True
            except AssertionError:
                said = False
            assert close(y.astype(np.float64), x.astype(np.float64), FORMATS[name]) == said


def test_integers_must_be_equal() -> None:
    assert close(np.array([1, 2]), np.array([1, 2]), FORMATS["int64"])
    assert not close(np.array([1, 3]), np.array([1, 2]), FORMATS["int64"])


def test_a_good_kernel_passes_and_a_failing_one_does_not() -> None:
    assert passes(*GEMM, Emulated(*GEMM), seed=1)
    assert not passes(*GEMM, Fixed(lambda shape, fmt: np.zeros(shape)), seed=1)


@pytest.mark.parametrize(
    "kernel",
    [
        lambda a, b: CallResult(Outcome.RAISED, "no"),
        lambda a, b: CallResult(Outcome.CRASHED, "SIGSEGV"),
        lambda a, b: (a @ b, a @ b),
        lambda a, b: (a @ b)[:1],
        lambda a, b: CallResult(Outcome.RETURNED, "a list", defect="wrong_type"),
    ],
)
def test_what_is_no_answer_does_not_pass(kernel: Any) -> None:
    assert not passes(*GEMM, kp.Function(kernel), seed=1)


def test_a_silent_fault_passes() -> None:
    """Softmax without its shift is right on ordinary data: that is why the ordinary test is not enough."""

    def unshifted(x: Any) -> Any:
        e = np.exp(x)
        return e / e.sum(-1, keepdims=True)

    assert passes(*SOFTMAX, kp.Function(unshifted), seed=1)
    run = kp.session(SOFTMAX, unshifted)
    assert run.measure(kp.case(SOFTMAX, "constant_offset(1000)", R=4, N=8)).violating


def test_sizes_follow_the_precondition() -> None:
    pair = kp.written("f (x: fp32[M, N]) -> y: fp32[M, N]", "y = x + x in fp32", "M in {3, 5} and N in 1..7")
    kernel = kp.Function(lambda x: x + x)
    assert passes(*pair, kernel, seed=1)
    shapes = {a.array.shape for arrays, _ in kernel.calls for a in arrays}
    assert shapes <= {(m, n) for m in (3, 5) for n in range(1, 8)}


def test_a_contract_without_usual_sizes_is_not_passed_by_accident() -> None:
    pair = kp.written("f (x: fp32[N]) -> y: fp32[N]", "y = x + x in fp32", "N in 1..64 and N % 7 == 3")
    assert not passes(*pair, kp.Function(lambda x: x + x), seed=1)

"""The session: inputs from a seed, the kernel before the oracle, the cheapest oracle that is good enough."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import kernels_in_process as kp
import numpy as np
import pytest

from kernel_contracts.contracts.evidence import Layout, Outcome, Verdict
from kernel_contracts.measurement.calls import CallResult
from kernel_contracts.measurement.inputs.base import families
from kernel_contracts.measurement.oracle import FloatOracle, Truth
from kernel_contracts.measurement.process import Kernel
from kernel_contracts.numerics.domains import FLOAT64
from kernel_contracts.oracles import ladder
from kernel_contracts.stacks.natives import natives

GEMM = kp.contract("gemm-accumulator")
GEMM64 = kp.contract("gemm-accumulator", "fp64")
MATMUL = np.matmul
DOUBLE = kp.written("f for P in {fp32} (x: P[M, N]; k: real = 2.0) -> y: P[M, N]", "y = x * k in fp32", "M, N in 1..64")


# ---------------------------------------------------------------------------------------------------------- inputs


@pytest.mark.parametrize("family", sorted(families()))
def test_inputs_are_made_again_from_the_seed(family: str) -> None:
    first, again, other = (
        kp.session(GEMM, MATMUL).inputs(kp.case(GEMM, family, seed, M=8, K=8, N=8)) for seed in (5, 5, 6)
    )
    assert set(first) == {"A", "B"}
    for n in first:
        assert np.array_equal(first[n], again[n], equal_nan=True)
        assert first[n].shape == (8, 8)
    fixed = {"ones"}
    assert family in fixed or any(not np.array_equal(first[n], other[n]) for n in first)


def test_what_the_kernel_gets_is_what_the_witness_will_hold() -> None:
    run = kp.session(GEMM, MATMUL)
    case = kp.case(GEMM, "wide", 9, M=3, K=5, N=2)
    seen = run.measure(case)
    (arrays, scalars) = run.kernel.calls[0]  # type: ignore[attr-defined]
    inputs = kp.session(GEMM, MATMUL).inputs(case)
    assert scalars == {}
    for a in arrays:
        assert a.array.dtype == np.float32
        assert np.array_equal(a.array.astype(np.float64), inputs[a.name])
    assert set(seen.hashes) == {"A", "B", "C"}
    assert seen.hashes == kp.session(GEMM, MATMUL).measure(case).hashes
    assert run.measure(replace(case, seed=10)).hashes["A"] != seen.hashes["A"]


def test_an_impossible_input_is_skipped_and_the_kernel_not_called() -> None:
    pair = kp.contract("gather-shapes")
    run = kp.session(pair, lambda table, index: table[index])
    seen = run.measure(kp.case(pair, V=0, D=3, N=2))
    assert seen.skipped.startswith("index has no value between 0 and -1")
    assert run.kernel.calls == []  # type: ignore[attr-defined]


# ------------------------------------------------------------------------------------------- the kernel goes first


class Logged:
    """An oracle that says when it was asked."""

    name, rank = "logged", 0

    def __init__(self, log: list[str], inner: Any) -> None:
        self.log, self.inner = log, inner

    def available(self) -> bool:
        return True

    def affordable(self, instance: Any) -> bool:
        self.log.append("oracle")
        return True

    def answer(self, *args: Any) -> Truth:
        return self.inner.answer(*args)  # type: ignore[no-any-return]


def test_the_kernel_is_called_before_the_oracle() -> None:
    log: list[str] = []

    def kernel(a: Any, b: Any) -> Any:
        log.append("kernel")
        return a @ b

    run = kp.session(GEMM, kernel, ladder=(Logged(log, ladder()[0]),))
    run.measure(kp.case(GEMM, M=2, K=2, N=2))
    assert log == ["kernel", "oracle"]


@pytest.mark.parametrize("outcome", [o for o in Outcome if o is not Outcome.RETURNED])
def test_without_an_answer_no_oracle_is_asked(outcome: Outcome) -> None:
    log: list[str] = []
    run = kp.session(GEMM, lambda a, b: CallResult(outcome, "why", mutated=("A",)), ladder=(Logged(log, ladder()[0]),))
    seen = run.measure(kp.case(GEMM, M=2, K=2, N=2))
    assert (seen.outcome, seen.detail, seen.mutated, seen.outputs) == (outcome, "why", ("A",), ())
    assert log == []


# ------------------------------------------------------------------------------------------------------ the ladder


def test_fp32_is_decided_by_float64_and_fp64_by_something_wider() -> None:
    dims = {"M": 3, "K": 40, "N": 2}
    assert kp.session(GEMM, MATMUL).measure(kp.case(GEMM, **dims)).oracle == "fp64"
    seen = kp.session(GEMM64, MATMUL).measure(kp.case(GEMM64, **dims))
    assert (seen.oracle, seen.oracle_ok) == ("extended", True)
    assert 0 < seen.ratio <= 1


def test_without_long_double_fp64_is_decided_by_balls() -> None:
    steps = tuple(o for o in ladder() if o.name != "extended")
    seen = kp.session(GEMM64, MATMUL, ladder=steps).measure(kp.case(GEMM64, M=2, K=20, N=2))
    assert seen.oracle == "ball(128)"
    assert seen.oracle_ok
    assert 0 < seen.ratio <= 1
    wrong = kp.session(GEMM64, lambda a, b: a @ b * (1 + 1e-12), ladder=steps).measure(kp.case(GEMM64, M=2, K=20, N=2))
    assert wrong.violating


@pytest.mark.parametrize("dims", [{"M": 2, "K": 20, "N": 2}, {"M": 200, "K": 200, "N": 200}])
def test_fp64_without_a_wider_oracle_decides_nothing(dims: dict[str, int]) -> None:
    """Neither a right nor a wrong kernel is judged by float64 in float64."""
    steps = tuple(o for o in ladder() if o.name == "fp64" or (o.name == "ball" and dims["M"] > 2))
    for kernel in (MATMUL, lambda a, b: a @ b * (1 + 1e-9)):
        seen = kp.session(GEMM64, kernel, ladder=steps).measure(kp.case(GEMM64, **dims))
        assert not seen.oracle_ok
        assert kp.judge(GEMM64, [seen]).verdict is Verdict.INCONCLUSIVE


def test_nothing_affordable_decides_nothing() -> None:
    poor = (FloatOracle("fp64", 0, FLOAT64, limit=10),)
    seen = kp.session(GEMM, MATMUL, ladder=poor).measure(kp.case(GEMM, M=8, K=8, N=8))
    assert (seen.oracle, seen.oracle_ok, seen.outputs) == ("none", False, ())
    assert kp.judge(GEMM, [seen]).verdict is Verdict.INCONCLUSIVE


def test_index_contracts_need_no_oracle_of_real_numbers() -> None:
    pair = kp.written("f (x: fp32[N]) -> y: int64[]", "y = argmax(x, axis = 0)", "N in 1..9", "none",
                      post="y bitwise equal reference")  # fmt: skip
    seen = kp.session(pair, lambda x: np.asarray(x.argmax())).measure(kp.case(pair, N=7))
    assert (seen.oracle, seen.oracle_ok, seen.violating) == ("exact", True, False)


# ------------------------------------------------------------------------------------------- layouts and parameters


@pytest.mark.parametrize("layout", list(Layout))
def test_every_layout_reaches_the_kernel_and_conforms(layout: Layout) -> None:
    run = kp.session(DOUBLE, lambda x, k: (x * np.float32(k)).copy())
    seen = run.measure(kp.case(DOUBLE, layout=layout, M=5, N=3))
    assert [a.layout for a in run.kernel.calls[0][0]] == [layout]  # type: ignore[attr-defined]
    assert not seen.violating
    assert seen.case.layout is layout


def test_layouts_through_a_worker() -> None:
    """The values are the same in each layout; only where they lie differs."""
    hashes = set()
    with Kernel(natives("numpy")["matmul"]) as kernel:
        for layout in Layout:
            seen = kp.session(GEMM, kernel).measure(kp.case(GEMM, layout=layout, M=5, K=7, N=3))
            assert (seen.outcome, seen.violating, seen.mutated) == (Outcome.RETURNED, False, ())
            hashes.add((seen.hashes["A"], seen.hashes["B"]))
    assert len(hashes) == 1


def test_parameters_reach_the_kernel_by_name() -> None:
    run = kp.session(DOUBLE, lambda x, k: (x * np.float32(k)).copy())
    assert not run.measure(kp.case(DOUBLE, scalars={"k": 0.25}, M=2, N=2)).violating
    assert run.kernel.calls[0][1] == {"k": 0.25}  # type: ignore[attr-defined]
    fixed = kp.session(DOUBLE, lambda x, k: x * np.float32(2))
    assert not fixed.measure(kp.case(DOUBLE, M=2, N=2)).violating
    assert fixed.measure(kp.case(DOUBLE, scalars={"k": 0.25}, M=2, N=2)).violating


# -------------------------------------------------------------------------------------------------- what came back


@pytest.mark.parametrize(
    ("kernel", "defect", "detail"),
    [
        (lambda x, k: x.astype(np.float64), "wrong_dtype", "y came back as fp64, the scope says fp32"),
        (lambda x, k: x.astype(np.float16), "wrong_dtype", "y came back as fp16"),
        (lambda x, k: x.T, "wrong_shape", "y came back with shape [3, 2], the scope says [2, 3]"),
        (lambda x, k: x.sum(), "wrong_shape", "shape []"),
        (lambda x, k: (x, x), "wrong_count", "returned 2 array(s), the scope says 1"),
        (lambda x, k: CallResult(Outcome.RETURNED, "a list", defect="wrong_type"), "wrong_type", "a list"),
    ],
)
def test_an_answer_of_another_type(kernel: Any, defect: str, detail: str) -> None:
    seen = kp.session(DOUBLE, kernel).measure(kp.case(DOUBLE, M=2, N=3))
    assert seen.defect == defect
    assert detail in seen.detail
    assert seen.violating
    assert seen.outputs == ()
    assert seen.ratio == 0.0


def test_tf32_is_held_in_fp32() -> None:
    pair = kp.written("f (x: fp32[N]) -> y: tf32[N]", "y = round(x, tf32) in fp32", "N in 1..9")
    honest = kp.session(pair, lambda x: ((x.view(np.uint32) + 0xFFF + ((x.view(np.uint32) >> 13) & 1)) & 0xFFFFE000)
                        .view(np.float32))  # fmt: skip
    assert not honest.measure(kp.case(pair, N=9)).violating
    assert kp.session(pair, lambda x: x).measure(kp.case(pair, N=9)).violating


def test_a_failure_is_diagnosed_twice_for_each_input_family() -> None:
    run = kp.session(GEMM, lambda a, b: (a.astype(np.float16) @ b.astype(np.float16)).astype(np.float32),
                     mutants=("operands", "accumulate"))  # fmt: skip
    cases = [kp.case(GEMM, family, seed, M=4, K=40, N=4) for family in ("normal", "uniform") for seed in range(4)]
    told = [bool(o.hypotheses) for o in map(run.measure, cases)]
    assert told == [True, True, False, False] * 2
    right = kp.session(GEMM, MATMUL, mutants=("operands",)).measure(cases[0])
    assert right.hypotheses == {}


def test_times_are_recorded_apart() -> None:
    seen = kp.session(GEMM, MATMUL).measure(kp.case(GEMM, M=4, K=4, N=4))
    assert {"inputs", "candidate", "overhead", "oracle", "compare"} <= set(seen.timing)
    assert all(t >= 0 for t in seen.timing.values())


def test_a_case_without_all_its_sizes_is_skipped_with_the_reason() -> None:
    pair = kp.contract("matmul-shapes")
    run = kp.session(pair, MATMUL)
    assert "the size N has no value" in run.measure(kp.case(pair, M=2, K=2)).skipped
    assert run.kernel.calls == []  # type: ignore[attr-defined]

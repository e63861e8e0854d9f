"""Subnormal numbers: what each policy makes due, in every format's own range, and what a kernel that differs is."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from kernels_in_process import Function
from policy_kernels import declared, judged, story

from kernel_contracts.checking import contracts_for
from kernel_contracts.classes import classes
from kernel_contracts.contracts.evidence import Finding, Layout, Outcome, Verdict
from kernel_contracts.contracts.model import Contract
from kernel_contracts.measurement.calls import ArrayIn, CallResult
from kernel_contracts.measurement.emulated import Emulated
from kernel_contracts.measurement.experiments import experiments
from kernel_contracts.measurement.experiments.subnormals import left_behind, switches
from kernel_contracts.measurement.faults import faults
from kernel_contracts.measurement.moves import flushed
from kernel_contracts.measurement.session import Session
from kernel_contracts.oracles import ladder

FORMATS = ("fp64", "fp32", "fp16", "bf16", "fp8_e4m3fn", "fp8_e5m2")
SIZES = "R in 1..8 and N in 1..200"
EITHER = "flush or preserve"
Kernel = Callable[..., Any]


def contract(reference: str, dtype: str = "fp32", given: str = "preserve", made: str = "preserve", more: str = "",
             scope: str = "a: P[R, N], b: P[R, N]") -> Contract:  # fmt: skip
    policies = f"subnormal_input = {given} and subnormal_result = {made}{more}"
    policies = " and ".join(p for p in policies.split(" and ") if not p.endswith("= "))
    text = f"c for P in {{{dtype}}} ({scope}) -> y: P[R, N]"
    return declared("C-PRC-03", text, SIZES, reference, policies, "within tolerance of")


def product(dtype: str = "fp32", given: str = "preserve", made: str = "preserve") -> Contract:
    return contract("y = round(a * b, P) in max(P, fp32)", dtype, given, made)


def wide(x: Any) -> Any:
    return x if x.dtype == np.float64 else x.astype(np.float32)


def times(a: Any, b: Any) -> Any:
    return (wide(a) * wide(b)).astype(a.dtype)


def treated(kernel: Kernel, given: str, made: str) -> Kernel:
    """The kernel with its inputs and its results kept or flushed."""

    def call(*arrays: Any, **scalars: Any) -> Any:
        y = kernel(*(flushed(x) if given == "flush" else x for x in arrays), **scalars)
        return flushed(y) if made == "flush" else y

    return call


def named(finding: Finding) -> str:
    assert finding.verdict is Verdict.VIOLATES, story(finding)
    assert finding.signature is not None
    return finding.signature.name


@pytest.mark.parametrize("dtype", FORMATS)
@pytest.mark.parametrize(("given", "made"), [("preserve", "flush"), ("flush", "preserve"), ("preserve", "preserve")])
def test_inputs_and_results_are_told_apart_in_every_format(dtype: str, given: str, made: str) -> None:
    kernel = treated(times, given, made)
    finding, _ = judged(product(dtype, given, made), kernel)
    assert finding.verdict is Verdict.CONFORMS, story(finding)
    assert {f"subnormal_input: {given}", f"subnormal_result: {made}"} <= set(finding.notes)
    if "flush" in (given, made):
        wrong, _ = judged(product(dtype), kernel)
        assert named(wrong) == ("input_flushed" if given == "flush" else "result_flushed")


def test_the_story_counts_and_names_the_formats_own_threshold() -> None:
    for dtype, power in (("fp32", -126), ("fp16", -14), ("fp8_e4m3fn", -6)):
        finding, _ = judged(product(dtype), treated(times, "flush", "preserve"))
        assert finding.signature is not None
        assert finding.signature.detail.startswith(f"|x| < 2^{power} read as 0 in ")


def test_a_declared_flush_that_is_not_done_breaks_the_contract_too() -> None:
    finding, _ = judged(product("fp32", "flush", "flush"), times)
    assert named(finding) == "subnormals_kept"
    assert judged(product("fp32", "flush", "flush"), treated(times, "flush", "flush"))[0].verdict is Verdict.CONFORMS


@pytest.mark.parametrize(("given", "made"), [("preserve", "preserve"), ("flush", "flush"), ("preserve", "flush")])
def test_what_is_not_declared_is_named_and_no_accusation(given: str, made: str) -> None:
    text = "c for P in {fp32} (a: P[R, N], b: P[R, N]) -> y: P[R, N]"
    open_contract = declared("C-PRC-03", text, SIZES, "y = a * b", "", "within tolerance of")
    finding, _ = judged(open_contract, treated(times, given, made))
    assert finding.verdict is Verdict.UNDER_SPECIFIED, story(finding)
    assert f"subnormal_input: {given}" in finding.reason
    assert f"subnormal_result: {made}" in finding.reason


def test_either_is_fine_and_a_mixture_is_not() -> None:
    either = product("fp32", EITHER, EITHER)
    for given, made in (("preserve", "preserve"), ("flush", "flush"), ("preserve", "flush")):
        finding, _ = judged(either, treated(times, given, made))
        assert finding.verdict is Verdict.CONFORMS, story(finding)

    def by_length(a: Any, b: Any) -> Any:
        return treated(times, "flush", "flush")(a, b) if a.shape[-1] > 100 else times(a, b)

    finding, _ = judged(either, by_length)
    assert named(finding) == "subnormals_mixed"
    assert "large arrays only: at R = 2, N = 129" in str(finding.signature)

    def by_lane(a: Any, b: Any) -> Any:
        whole = a.shape[-1] // 8 * 8
        tail = treated(times, "flush", "flush")(a[:, whole:], b[:, whole:])
        return np.concatenate([times(a[:, :whole], b[:, :whole]), tail], axis=-1)

    finding, _ = judged(either, by_lane)
    assert finding.verdict is Verdict.VIOLATES
    finding, _ = judged(product(), by_lane)
    assert named(finding) == "input_flushed"
    assert "in the tail only: from element 16 of a row on" in str(finding.signature)


def test_a_flushed_zero_has_either_sign_and_rounding_may_come_first() -> None:
    def unsigned(a: Any, b: Any) -> Any:
        return treated(times, "flush", "flush")(a, b) + np.float32(0)

    assert judged(product("fp32", "flush", "flush"), unsigned)[0].verdict is Verdict.CONFORMS

    def before_rounding(a: Any, b: Any) -> Any:
        """Tiny in fp32, the least normal number once it is rounded to bf16: flushed all the same."""
        exact = flushed(a).astype(np.float64) * flushed(b).astype(np.float64)
        return np.where(np.abs(exact) < 2.0**-126, 0, exact).astype(a.dtype)

    for kernel in (before_rounding, treated(times, "flush", "flush")):
        finding, _ = judged(product("bf16", "flush", "flush"), kernel)
        assert finding.verdict is Verdict.CONFORMS, story(finding)


def _flushing_fp32(a: Any, b: Any) -> Any:
    """Arithmetic of a unit that flushes in fp32, whatever the format of the data; conversions keep everything."""
    wide_a, wide_b = (flushed(x.astype(np.float32)) for x in (a, b))
    return flushed(wide_a * wide_b).astype(a.dtype)


def test_a_flushing_fp32_unit_is_felt_in_bf16_and_not_in_fp16() -> None:
    assert judged(product("fp16"), _flushing_fp32)[0].verdict is Verdict.CONFORMS
    assert named(judged(product("bf16"), _flushing_fp32)[0]) == "input_flushed"
    assert judged(product("bf16", "flush", "flush"), _flushing_fp32)[0].verdict is Verdict.CONFORMS


def test_a_result_is_rounded_gradually_not_cut_off() -> None:
    def cut(a: Any, b: Any) -> Any:
        exact = a.astype(np.float64) * b.astype(np.float64)
        small = np.abs(exact) < 2.0**-14
        return np.where(small, np.trunc(exact * 2.0**24) / 2.0**24, exact).astype(np.float16)

    finding, _ = judged(product("fp16"), cut)
    assert finding.verdict is Verdict.VIOLATES, story(finding)


def test_numbers_between_two_operations_have_a_policy_of_their_own() -> None:
    scope = "a: P[R, N], b: P[R, N]"

    def kernel(a: Any, b: Any) -> Any:
        return flushed(a * b) * np.float32(2.0**20)

    reference = "y = (a * b) * 1048576.0 in fp32"
    strict = contract(reference, more=" and subnormal_intermediate = preserve", scope=scope)
    finding, _ = judged(strict, kernel)
    assert finding.verdict is Verdict.VIOLATES, story(finding)
    loose = contract(reference, more=" and subnormal_intermediate = flush or preserve", scope=scope)
    assert judged(loose, kernel)[0].verdict is Verdict.CONFORMS
    assert judged(loose, lambda a, b: a * b * np.float32(2.0**20))[0].verdict is Verdict.CONFORMS


# ---------------------------------------------------------------------------------------------------------- moves

MOVE = "c for P in {%s} (x: P[R, N]) -> y: P[R, N]"


def move(dtype: str) -> Contract:
    return declared("C-PRC-03", MOVE % dtype, SIZES, "y = x", "")


def _bits(x: Any) -> Any:
    return x.view(f"u{x.dtype.itemsize}")


def _quiet(x: Any) -> Any:
    return np.where(np.isnan(x), (_bits(x) | 0x400000).astype(np.uint32), _bits(x)).astype(np.uint32).view(np.float32)


MOVES: Mapping[str, Kernel] = {
    "input_flushed": flushed,
    "payload_changed": _quiet,
    "nan_lost": lambda x: np.where(np.isnan(x), np.float32(0), x),
    "sign_of_zero_lost": lambda x: np.where(x == 0, np.float32(0), x),
}


@pytest.mark.parametrize("dtype", FORMATS)
def test_a_copy_of_bits_conforms_in_every_format(dtype: str) -> None:
    finding, _ = judged(move(dtype), lambda x: _bits(x).copy().view(x.dtype))
    assert finding.verdict is Verdict.CONFORMS, story(finding)


@pytest.mark.parametrize("defect", sorted(MOVES))
def test_a_move_that_loses_bits_is_named_by_what_it_loses(defect: str) -> None:
    finding, _ = judged(move("fp32"), MOVES[defect])
    assert named(finding) == defect, story(finding)


def test_a_copy_by_way_of_a_wider_format_keeps_everything_but_the_signal() -> None:
    finding, _ = judged(move("bf16"), lambda x: x.astype(np.float32).astype(ml_dtypes.bfloat16))
    assert named(finding) == "payload_changed", story(finding)


# ------------------------------------------------------------------------------------------- the caller's switches


def test_switches_left_on_are_found_whenever_they_were_switched() -> None:
    calm = {"flush_to_zero": False, "denormals_are_zero": False, "rounding": "nearest", "threads": 1}
    on = {**calm, "flush_to_zero": True}
    answer = CallResult(Outcome.RETURNED)

    def told(**state: Any) -> str:
        return left_behind(CallResult(answer.outcome, state=state))

    assert told(**calm, before=calm) == ""
    assert told(**on, before=on) == "", "the thread came like that"
    assert "which it did not before: 2^-1022 * 0.5 gives 0" in told(**on, before=calm)
    assert "since the kernel was loaded" in told(**on, before=on, fresh=calm)
    assert "rounds to up" in told(**{**calm, "rounding": "up"}, before=calm)
    assert told() == "", "nothing was reported"
    assert switches(calm) == ""


def test_state_left_behind_is_a_defect_even_where_the_answer_is_right() -> None:
    def leaving(a: Any, b: Any) -> Any:
        calm = {"flush_to_zero": False, "denormals_are_zero": False, "rounding": "nearest"}
        y = times(a, b)
        return CallResult(
            Outcome.RETURNED, outputs=(y,), dtypes=("fp32",), state={**calm, "flush_to_zero": True, "before": calm}
        )

    finding, _ = judged(product(), leaving)
    assert named(finding) == "caller_state_changed"


# ----------------------------------------------------------------------------------------------------- the plan


@pytest.mark.parametrize("dtype", FORMATS)
def test_every_variant_is_planned(dtype: str) -> None:
    made = product(dtype)
    bound = made.bound[0]
    plan = classes()["C-PRC-03"].plan(made, bound)
    cases = experiments()["subnormals"].cases(made, bound, plan, seed=1)
    assert {c.layout for c in cases} == set(Layout)
    assert {c.dims["N"] for c in cases} >= {1, 8, 17, 33, 129, 200}
    for case in cases[:40]:
        inputs = experiments()["subnormals"].inputs(Session(made, bound, Function(times), ()), case)
        least = bound.inputs["a"].least_normal
        if case.family.startswith("subnormal a"):
            assert np.all((np.abs(inputs["a"]) < least) & (inputs["a"] != 0))
        if case.family.startswith("least b"):
            assert np.all((np.abs(inputs["b"]) >= least) & (np.abs(inputs["b"]) < 2 * least))


def test_a_square_is_measured_where_it_is_subnormal() -> None:
    squares = contract("y = x * x in P", "fp64", "preserve", "preserve", scope="x: P[R, N]")
    finding, seen = judged(squares, lambda x: x * x)
    assert finding.verdict is Verdict.CONFORMS, story(finding)
    assert any("2^-5" in o.case.family for o in seen)
    assert named(judged(squares, lambda x: flushed(x * x))[0]) == "result_flushed"


@pytest.mark.parametrize("name", ["flush_in_tail", "flush_if_strided", "leave_flushing_on", "quiet_nan"])
def test_a_fault_changes_nothing_on_ordinary_numbers(name: str) -> None:
    made = product()
    bound = made.bound[0]
    faulty = faults()[name].wrap(made, bound, Emulated(made, bound), ())
    rng = np.random.default_rng(4)
    arrays = [ArrayIn(n, rng.standard_normal((4, 30)).astype(np.float32)) for n in ("a", "b")]
    right = Emulated(made, bound).call(arrays)
    assert np.array_equal(faulty.call(arrays).outputs[0], right.outputs[0])


def test_without_a_number_at_stake_nothing_is_decided() -> None:
    text = "c for P in {fp32} (a: P[R, N]) -> y: P[R, N]"
    sign = declared("C-PRC-03", text, SIZES, "y = a + 1.0", "subnormal_input = preserve", "within tolerance of")
    bound = sign.bound[0]
    session = Session(sign, bound, Function(lambda a: a + np.float32(1)), ladder())
    experiment = experiments()["subnormals"]
    cases = experiment.cases(sign, bound, classes()["C-PRC-03"].plan(sign, bound), seed=1)
    seen = experiment.finish(session, [experiment.measure(session, c) for c in cases])
    assert classes()["C-PRC-03"].judge(sign, bound, seen).verdict is Verdict.INCONCLUSIVE


@pytest.mark.parametrize("dtype", ["fp32", "bf16"])
def test_a_softmax_on_a_unit_that_flushes_conforms(dtype: str) -> None:
    """Every operation in fp32 reads and writes subnormal numbers as zero, reciprocal of the sum included."""
    (made,) = (c for c in contracts_for("softmax", None, ("C-PRC-03",)))
    bound = next(b for b in made.bound if b.dtypes["P"] == dtype)

    def kernel(x: Any) -> Any:
        v = flushed(x.astype(np.float32))
        e = flushed(np.exp(flushed(v - v.max(axis=-1, keepdims=True))))
        return flushed(e * (np.float32(1) / e.sum(axis=-1, keepdims=True))).astype(x.dtype)

    experiment, klass = experiments()["subnormals"], classes()["C-PRC-03"]
    session = Session(made, bound, Function(kernel), ladder())
    cases = experiment.cases(made, bound, klass.plan(made, bound), seed=2)
    finding = klass.judge(made, bound, experiment.finish(session, [experiment.measure(session, c) for c in cases]))
    assert finding.verdict is Verdict.CONFORMS, story(finding)
    assert "subnormal_result: flush" in finding.notes

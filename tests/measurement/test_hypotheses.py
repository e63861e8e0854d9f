"""Planted faults are called by their names: each mutant of a contract, measured like any kernel, is recognized."""

from __future__ import annotations

import kernels_in_process as kp
import numpy as np
import pytest

from kernel_contracts.contracts.evidence import Verdict
from kernel_contracts.measurement import hypotheses
from kernel_contracts.measurement.emulated import Emulated
from kernel_contracts.measurement.hypotheses import EMULATE_LIMIT, explain, instance_size
from kernel_contracts.measurement.known import Known
from kernel_contracts.measurement.session import Session
from kernel_contracts.numerics.interpret import Instance, evaluate
from kernel_contracts.numerics.mutants import mutants
from kernel_contracts.oracles import ladder

PLANTED = [
    ("gemm-accumulator", "accumulate", ("fp16",)), ("gemm-accumulator", "accumulate", ("bf16",)),
    ("gemm-accumulator", "operands", ("tf32",)), ("gemm-accumulator", "operands", ("bf16",)),
    ("gemm-accumulator", "partial", ("fp16", 4)), ("gemm-accumulator", "drop_tail", (16,)),
    ("matmul-shapes", "flip_rows", ()),
    ("softmax-stable", "no_max_subtraction", ()), ("softmax-accumulator", "operands", ("bf16",)),
    ("softmax-shapes", "pad_zero", (16,)), ("softmax-shapes", "flip_rows", ()),
    ("layernorm-stable", "naive_variance", ()), ("layernorm-accumulator", "accumulate", ("bf16",)),
    ("layernorm-shapes", "flip_rows", ()),
    ("linear-gelu-fused", "narrow", ("bf16",)), ("linear-gelu-fused", "erf_by_tanh", ()),
    ("linear-gelu-fused", "bias_after_activation", ()), ("linear-gelu-fused", "drop_addend", ()),
    ("linear-gelu-shapes", "drop_tail", (16,)),
]  # fmt: skip


@pytest.mark.parametrize(("name", "fault", "arguments"), PLANTED)
def test_a_planted_fault_is_named(name: str, fault: str, arguments: tuple[object, ...]) -> None:
    pair = kp.contract(name)
    entry = mutants()[fault]
    _, program = next(iter(entry.apply(pair[1].program, arguments)))
    run = Session(*pair, Emulated(*pair, program), ladder(), tuple(mutants()))
    found = kp.judge(pair, [run.measure(case) for case in kp.planned(pair, seed=7)])
    assert found.verdict is Verdict.VIOLATES
    assert found.signature.name == entry.signature


@pytest.mark.parametrize("name", ["gemm-accumulator", "softmax-stable", "layernorm-stable", "linear-gelu-fused"])
def test_without_a_fault_there_is_nothing_to_explain(name: str) -> None:
    pair = kp.contract(name)
    run = Session(*pair, Emulated(*pair), ladder(), tuple(mutants()))
    seen = [run.measure(case) for case in kp.planned(pair, seed=7)]
    assert kp.judge(pair, seen).verdict is Verdict.CONFORMS
    assert not any(o.hypotheses for o in seen)


GELU = kp.contract("linear-gelu-fused")


def instance(**dims: int) -> Instance:
    case = kp.case(GELU, **dims)
    return Instance(GELU[1].program, case.dims, kp.session(GELU, np.matmul).inputs(case), case.scalars)


def test_an_explanation_is_the_share_that_is_left_over() -> None:
    i = instance(M=6, K=20, N=5)
    right = evaluate(i)["y"]
    _, program = next(iter(mutants()["drop_addend"].apply(GELU[1].program, ())))
    wrong = evaluate(Instance(program, i.dims, i.inputs, i.scalars))["y"]
    for mixed, left in (
        (wrong, 0.0),
        (right + 0.25 * (wrong - right), 1.0),
        (wrong + 0.1 * (wrong - right), 0.1 / 1.1),
    ):
        found = explain(GELU[1], i, {"y": mixed}, {"y": right}, ("drop_addend", "narrow"))
        told = [v for k, v in found.items() if k.startswith("drop_addend")]
        assert (told == []) if left == 1.0 else (told == [pytest.approx(left, abs=1e-3)])
    best = next(iter(explain(GELU[1], i, {"y": wrong}, {"y": right}, tuple(mutants()))))
    assert best.startswith("drop_addend: ")


def test_unknown_names_and_large_cases_are_left_undiagnosed() -> None:
    i = instance(M=6, K=20, N=5)
    right = evaluate(i)["y"]
    assert explain(GELU[1], i, {"y": right + 1}, {"y": right}, ("no_such_mutant",)) == {}
    large = Instance(i.program, {"M": 2048, "K": 2048, "N": 2}, i.inputs, i.scalars)
    assert instance_size(large) > EMULATE_LIMIT
    assert explain(GELU[1], large, {"y": right + 1}, {"y": right}, ("accumulate",)) == {}
    assert explain(GELU[1], i, {"y": right}, {"y": right}, tuple(mutants())) == {}


def test_explanations_are_the_same_where_the_mutants_answers_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    i = instance(M=6, K=20, N=5)
    right = evaluate(i)["y"]
    shared, wrongs = Known(), (right + 1, np.round(right, 1), np.flip(right, axis=0))
    alone = [explain(GELU[1], i, {"y": y}, {"y": right}, tuple(mutants())) for y in wrongs]
    assert len({tuple(found) for found in alone}) > 1
    assert [explain(GELU[1], i, {"y": y}, {"y": right}, tuple(mutants()), known=shared) for y in wrongs] == alone
    monkeypatch.setattr(hypotheses, "emulate", None)  # none of it is worked out again
    monkeypatch.setattr(hypotheses, "evaluate", None)
    assert [explain(GELU[1], i, {"y": y}, {"y": right}, tuple(mutants()), known=shared) for y in wrongs] == alone
    with pytest.raises(TypeError):
        explain(GELU[1], instance(M=6, K=20, N=4), {"y": right}, {"y": right}, tuple(mutants()), known=shared)

"""From observations to a verdict: every branch, on evidence made by hand."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest
from made_evidence import seen

from kernel_contracts.classes import classes
from kernel_contracts.classes.judging import MOSTLY_FREE, fails, is_refusal
from kernel_contracts.contracts.catalogue import standard_library
from kernel_contracts.contracts.evidence import Finding, Observation, Outcome, Verdict
from kernel_contracts.vocabulary import vocabulary

CONTRACT = next(c for c in standard_library(vocabulary()) if c.name == "gemm-accumulator")
BOUND = next(b for b in CONTRACT.bound if b.dtypes["P"] == "fp32")
RAISED, CRASHED, HUNG, MEMORY = Outcome.RAISED, Outcome.CRASHED, Outcome.HUNG, Outcome.OUT_OF_MEMORY


def judge(*observations: Observation) -> Finding:
    return classes()["C-PRC-01"].judge(CONTRACT, BOUND, observations)


def test_nothing_planned_and_everything_skipped_decide_nothing() -> None:
    assert judge().verdict is Verdict.INCONCLUSIVE
    assert "no case was planned" in judge().reason
    found = judge(seen(skipped="index has no value between 0 and -1"), seen(skipped="too large"))
    assert found.verdict is Verdict.INCONCLUSIVE
    assert found.reason == "nothing could be measured: index has no value between 0 and -1"
    assert found.samples == 0
    assert found.upper95 is None


def test_skipped_cases_do_not_count_as_samples() -> None:
    found = judge(seen(), seen(skipped="too large"), seen())
    assert (found.verdict, found.samples) == (Verdict.CONFORMS, 2)


def test_conforming_comes_with_its_bound_on_the_failure_rate() -> None:
    found = judge(*(seen(0.25 + k / 100, id=k, exact=4) for k in range(30)))
    assert found.verdict is Verdict.CONFORMS
    assert found.reason == "all 30 cases within the bound"
    assert found.ratio == pytest.approx(0.54)
    assert found.upper95 == pytest.approx(0.1)
    assert found.tolerance_free == 120
    assert found.signature is None
    assert found.witness is None
    assert found.notes == ()


def test_a_ratio_of_exactly_one_passes() -> None:
    assert judge(seen(1.0)).verdict is Verdict.CONFORMS


REFUSAL = {"readings": {"may_refuse": 1.0, "must_refuse": 1.0}}


def test_a_documented_refusal_conforms() -> None:
    refused = seen(outcome=RAISED, detail="ValueError: D", **REFUSAL)
    assert is_refusal(refused)
    alone = judge(refused, refused)
    assert (alone.verdict, alone.samples) == (Verdict.CONFORMS, 2)
    mixed = judge(refused, seen(), seen())
    assert (mixed.verdict, mixed.samples, mixed.notes) == (Verdict.CONFORMS, 2, ("1 documented refusals",))
    assert not is_refusal(seen(outcome=CRASHED, **REFUSAL)), "a crash is no refusal"


def test_an_answer_in_place_of_a_refusal_must_be_right() -> None:
    assert judge(seen(0.5, **REFUSAL)).verdict is Verdict.CONFORMS
    found = judge(seen(7.0, **REFUSAL), seen())
    assert found.verdict is Verdict.VIOLATES
    assert found.signature.name == "accepted_unsupported"  # type: ignore[union-attr]


def test_a_kernel_that_refuses_everything_does_not_offer_the_scope() -> None:
    found = judge(*(seen(outcome=RAISED, detail=f"TypeError: no fp32, call {k}", id=k) for k in range(4)))
    assert found.verdict is Verdict.INAPPLICABLE
    assert found.reason == "the kernel refuses every input of this scope: TypeError: no fp32, call 0"


def test_raising_on_some_inputs_is_a_violation() -> None:
    found = judge(seen(), seen(outcome=RAISED, detail="ValueError: odd"), seen())
    assert (found.verdict, found.failures, found.samples) == (Verdict.VIOLATES, 1, 3)
    assert str(found.signature) == "raised: ValueError: odd"
    different = judge(seen(outcome=RAISED, detail="ValueError: a"), seen(outcome=RAISED, detail="TypeError: b"))
    assert different.verdict is Verdict.VIOLATES


@pytest.mark.parametrize(
    ("outcome", "detail", "signature"),
    [
        (CRASHED, "killed by SIGSEGV", "crashed: killed by SIGSEGV"),
        (HUNG, "no answer within 1 s", "hung: no answer within 1 s"),
        (MEMORY, "more than 64 MiB", "out_of_memory: more than 64 MiB"),
        (CRASHED, "", "crashed: crashed"),
    ],
)
def test_what_happened_to_the_process_is_evidence(outcome: Outcome, detail: str, signature: str) -> None:
    for others in ([seen()], [], [seen(50.0, M=1, N=1), seen(mutated=("x",), M=1, N=1)]):
        found = judge(*others, seen(outcome=outcome, detail=detail, M=900, N=900))
        assert found.verdict is Verdict.VIOLATES
        assert str(found.signature) == signature, "it explains more than what the numbers say"


@pytest.mark.parametrize("defect", ["wrong_dtype", "wrong_shape", "wrong_type", "wrong_count"])
def test_what_came_back_is_not_of_the_scope(defect: str) -> None:
    found = judge(seen(3.0), seen(defect=defect, detail="it is a list"), seen())
    assert (found.verdict, found.failures) == (Verdict.VIOLATES, 2)
    assert str(found.signature) == f"{defect}: it is a list"


def test_a_written_input_is_a_violation_whatever_the_values_and_the_oracle() -> None:
    for o in (seen(0.5, mutated=("A",)), seen(0.5, mutated=("A",), oracle_ok=False)):
        found = judge(o, seen())
        assert found.verdict is Verdict.VIOLATES
        assert str(found.signature) == "input_mutated: A changed during the call"


def test_a_wrong_value_has_the_smallest_failure_as_its_witness() -> None:
    big, small = seen(80.0, id=1, M=64, N=64), seen(2.0, id=2, M=2, N=3)
    found = judge(seen(id=0, M=1, N=1), big, small)
    assert found.verdict is Verdict.VIOLATES
    assert found.witness is small
    assert found.ratio == 80.0
    assert found.reason == "2 of 3 cases fail, the smallest at M = 2, N = 3 with normal inputs"
    assert found.upper95 is None
    assert found.signature.name == "wrong_value"  # type: ignore[union-attr]


def test_a_weak_oracle_never_accuses_and_never_clears() -> None:
    found = judge(seen(40.0, oracle_ok=False), seen())
    assert found.verdict is Verdict.INCONCLUSIVE
    assert "in 1 of 2 cases" in found.reason
    assert judge(seen(0.1, oracle_ok=False), seen()).verdict is Verdict.INCONCLUSIVE
    strong = judge(seen(0.1, oracle_ok=False), seen(3.0))
    assert strong.verdict is Verdict.VIOLATES, "other evidence still counts"


def test_evidence_that_admits_every_answer_decides_nothing() -> None:
    free = judge(seen(0.0, undetermined=15), seen(0.0, undetermined=16))
    assert free.verdict is Verdict.INCONCLUSIVE
    assert free.undetermined == pytest.approx(31 / 32)
    assert "decide nothing" in free.reason
    some = judge(seen(0.0, undetermined=8), seen(0.0))
    assert some.verdict is Verdict.CONFORMS
    assert some.notes == ("25.0% of the elements admit every answer (overflow or an undecidable choice)",)
    edge = judge(seen(0.0, size=10, undetermined=int(10 * MOSTLY_FREE)))
    assert edge.verdict is Verdict.CONFORMS
    assert judge(seen(0.0, size=1000, undetermined=10)).notes == ()


def test_a_violation_is_found_beside_free_elements() -> None:
    assert judge(seen(5.0, undetermined=15, exceeding=1)).verdict is Verdict.VIOLATES


VARIETY: tuple[tuple[Observation, ...], ...] = (
    (seen(), seen(0.9)), (seen(4.0), seen()), (seen(outcome=CRASHED), seen()), (seen(outcome=HUNG, detail="1 s"),),
    (seen(outcome=RAISED, detail="E: a"),), (seen(oracle_ok=False),), (seen(0.0, undetermined=16),),
    (seen(skipped="x"),), (seen(mutated=("A",)),),
)  # fmt: skip


@pytest.mark.parametrize("observations", VARIETY)
@pytest.mark.parametrize("klass", classes().values(), ids=lambda c: c.id)
def test_no_verdict_depends_on_a_timing(klass: object, observations: Sequence[Observation]) -> None:
    slow = {"candidate": 1e6, "oracle": 1e6, "overhead": 1e6, "inputs": 1e6, "compare": 1e6}
    timed = [replace(o, timing={**slow, "candidate": 10.0**k}) for k, o in enumerate(observations)]
    plain, late = (klass.judge(CONTRACT, BOUND, o) for o in (observations, timed))  # type: ignore[attr-defined]
    same = replace(late, witness=plain.witness)
    assert same == plain


def test_failing_and_refusing_alone() -> None:
    assert not fails(seen(1.0))
    assert all(
        fails(o) for o in (seen(1.1), seen(outcome=RAISED), seen(mutated=("x",)), seen(defect="wrong_type", detail="d"))
    )

"""The schedule class on evidence made by hand: what it plans, which words a verdict has, what it says was not tried."""

from __future__ import annotations

import pytest
from made_evidence import seen

from kernel_contracts.classes import classes
from kernel_contracts.contracts.catalogue import load_text, standard_library
from kernel_contracts.contracts.evidence import Finding, Observation, Outcome, Verdict
from kernel_contracts.contracts.model import Contract
from kernel_contracts.contracts.schedules import variations_of
from kernel_contracts.errors import LanguageError
from kernel_contracts.vocabulary import vocabulary

TEXT = """contract c version 1.0 implements C-CMP-02
{{
  scope     sum for P in {{fp32}} (x: P[R, N]{parameters}) -> y: P[R]
  pre       R, N in 1..64 and finite(x)
  post      {post}
  reference {{ y = sum(x, axis = -1) }}
}}
"""
ACROSS = "y within tolerance of reference across schedules, calls(3)"
TRIED = {"schedules": 2.0, "offered": 2.0, "refused": 0.0, "calls": 2.0, "processes": 0.0}
FACTS = {"space": "parameter", "offered": "8; 16"}


def written(post: str = ACROSS, parameters: str = "; schedule: schedules") -> Contract:
    (found,) = load_text(TEXT.format(post=post, parameters=parameters), "c.kc", vocabulary())
    return found


def judge(*observations: Observation) -> Finding:
    contract = written()
    return classes()["C-CMP-02"].judge(contract, contract.bound[0], observations)


def test_a_contract_says_which_claims_hold_across_schedules() -> None:
    post = (
        "y within tolerance of reference and sum(y, axis = 0) within tolerance of 1 across schedules "
        "and y bitwise equal across calls(5), schedules"
    )
    found = variations_of(written(post))
    assert (found.parameter, found.calls, found.within) == ("schedule", 5, (False, True))
    assert (found.same_across_schedules, found.same_across_calls) == (("y",), ("y",))


def test_a_contract_that_says_nothing_has_two_calls_and_no_schedules() -> None:
    found = variations_of(written("y within tolerance of reference", ""))
    assert (found.parameter, found.calls, found.within) == ("", 2, (False,))
    assert found.same_across_schedules == found.same_across_calls == ()


@pytest.mark.parametrize(
    ("post", "parameters", "says"),
    [
        (ACROSS, "", "needs a parameter that says which schedule runs"),
        (ACROSS, "; a: schedules, b: schedules", "b is a second parameter of type schedules"),
        ("y within tolerance of reference across calls(1)", "", "one whole number from 2 to 100"),
        ("y within tolerance of reference across calls(2, 3)", "", "one whole number from 2 to 100"),
        ("y within tolerance of reference across schedules(3)", "; a: schedules", "schedules takes no numbers"),
        ("2 * y bitwise equal across calls(2)", "", "is one of the outputs"),
    ],
)
def test_a_variation_that_means_nothing_is_refused_when_the_contract_is_read(
    post: str, parameters: str, says: str
) -> None:
    with pytest.raises(LanguageError, match="N218") as found:
        written(post, parameters)
    assert says in str(found.value)


def test_the_plan_names_the_experiment_and_adds_tails() -> None:
    contract = next(c for c in standard_library(vocabulary()) if c.name == "matmul-schedules")
    plan = classes()["C-CMP-02"].plan(contract, contract.bound[0])
    assert plan.experiment == "schedules"
    assert {"tails", "primes"} <= {s.name for s in plan.shapes}
    assert {"normal", "exact"} <= {i.name for i in plan.inputs}


def test_a_conforming_kernel_and_what_was_tried() -> None:
    found = judge(seen(facts=FACTS, readings=TRIED), seen(facts=FACTS, readings={**TRIED, "processes": 2.0}))
    assert found.verdict is Verdict.CONFORMS
    assert found.reason == "all 2 cases are within the bound under every schedule tried and again without one"
    assert found.notes == (
        "2 schedules (parameter): 8; 16",
        "2 calls without a schedule in each case; fresh processes in 1 of 2",
    )


def test_a_kernel_without_schedules_is_told_so() -> None:
    none = seen(facts={"space": "none"}, readings={**TRIED, "schedules": 0.0, "offered": 0.0})
    found = judge(none)
    assert found.verdict is Verdict.CONFORMS
    assert found.reason == "no schedule is exposed: 1 cases are within the bound on the first call and on later ones"
    assert "only its calls and processes were compared" in found.notes[0]


def test_refusals_are_counted() -> None:
    found = judge(seen(facts={**FACTS, "refused": "16"}, readings={**TRIED, "refused": 1.0}))
    assert found.verdict is Verdict.CONFORMS
    assert "1 calls were refused, by 16" in found.notes


def test_the_schedule_stands_in_every_signature() -> None:
    narrow = "accumulate(fp16): sums kept in fp16"
    bad = seen(50.0, facts={**FACTS, "schedule": "16"}, readings=TRIED, hypotheses={narrow: 0.01})
    found = judge(bad)
    assert found.signature is not None
    assert str(found.signature).startswith("accumulator_narrowed: under schedule 16: sums kept in fp16 explains")
    memory = seen(
        50.0, defect="unwritten_output", detail="under schedule 16: 3 of 16", outputs=(), facts={"schedule": "16"}
    )
    assert str(judge(memory).signature) == "unwritten_output: under schedule 16: 3 of 16"


def test_an_ending_under_a_schedule_names_it() -> None:
    dead = seen(outcome=Outcome.CRASHED, detail="killed by SIGSEGV (16)", facts={**FACTS, "schedule": "16"})
    assert str(judge(dead).signature) == "crashed: under schedule 16: killed by SIGSEGV (16)"

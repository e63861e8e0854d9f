"""The scaling class: what it says beside its verdict, and when bits were not compared at all."""

from __future__ import annotations

import pytest
from made_evidence import seen

from kernel_contracts.classes import classes
from kernel_contracts.contracts.catalogue import standard_library
from kernel_contracts.contracts.evidence import Finding, Observation, Verdict
from kernel_contracts.vocabulary import vocabulary

UNSCALE = next(c for c in standard_library(vocabulary()) if c.operation == "unscale")
READ = {"scaled_calls": 3.0, "away": 40.0, "scaled_elements": 48.0, "underflowed": 2.0, "lost": 1.0, "overflowed": 0.0}
SAME = seen(readings=READ, facts={"scales": "same"})
DIFFERS = seen(0.1, defect="scale_dependent", detail="h[3] is 1 where 2", readings=READ, facts={"scales": "differ"})
NEAR = seen(readings={**READ, "away": 0.0}, facts={"scales": "same"})
UNSTEADY = seen(readings={**READ, "away": 0.0}, facts={"scales": "unsteady"})


def judge(*observations: Observation) -> Finding:
    return classes()["C-PRC-04"].judge(UNSCALE, UNSCALE.bound[0], observations)


def test_it_is_measured_by_calls_at_several_scales() -> None:
    plan = classes()["C-PRC-04"].plan(UNSCALE, UNSCALE.bound[0])
    assert plan.experiment == "scales"


def test_a_conforming_kernel_is_told_how_much_was_compared() -> None:
    found = judge(SAME, SAME)
    assert found.verdict is Verdict.CONFORMS
    assert "6 calls at other scales: 80 of 96 elements away from range ends, compared bit for bit" in found.notes
    assert "at range ends, in the worst case: 2 elements underflow, 1 to zero, 0 overflow" in found.notes


def test_other_bits_at_another_scale_violate() -> None:
    found = judge(SAME, DIFFERS)
    assert found.verdict is Verdict.VIOLATES
    assert str(found.signature) == "scale_dependent: h[3] is 1 where 2"


@pytest.mark.parametrize(
    ("observation", "why"), [(NEAR, "no element stayed away"), (UNSTEADY, "answers change by themselves")]
)
def test_nothing_compared_is_inconclusive(observation: Observation, why: str) -> None:
    found = judge(observation, observation)
    assert found.verdict is Verdict.INCONCLUSIVE
    assert why in found.reason
    assert judge(observation, SAME).verdict is Verdict.CONFORMS


def test_a_failure_by_value_needs_no_scale() -> None:
    assert judge(seen(5.0), NEAR).verdict is Verdict.VIOLATES

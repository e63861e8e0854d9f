"""The arbiter on made evidence: it takes no side, accuses nobody without evidence, and never calls equal bits a gap."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from kernel_contracts.conformance.arbiter import Evidence, Gap, Judgement, Ruling, Standing, arbitrate
from kernel_contracts.contracts.evidence import Verdict

CONFORMS = Standing(Verdict.CONFORMS)
VIOLATES = Standing(Verdict.VIOLATES, "3 of 8 cases fail", "accumulator_narrowed: 11 bits effective, 24 declared")
SAME = Gap("normal inputs at N = 16", 16)

words = st.sampled_from(["", "", "gives 0", "raised IndexError"])
counts = st.integers(0, 3)
gaps = st.builds(
    Gap, st.sampled_from(["normal inputs", "nan at x[0] inputs"]), st.integers(1, 64), counts,
    st.sampled_from([0.0, 0.2, 1.0, 1.5, float("inf")]), counts, counts, counts, words, words,
    st.sampled_from(["", "", "policy nan = ..."]), st.sampled_from(["", "", "policy nan = propagate"]),
)  # fmt: skip
standings = st.builds(Standing, st.sampled_from(list(Verdict)), st.sampled_from(["", "some reason"]), st.just(""))
evidences = st.builds(
    Evidence, standings, standings, st.lists(gaps, max_size=4).map(tuple),
    st.sampled_from([(), (), ("other seeds",)]),
)  # fmt: skip
patient = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
"""A busy machine is no fault of the arbiter."""
MIRROR = {Ruling.A_VIOLATES: Ruling.B_VIOLATES, Ruling.B_VIOLATES: Ruling.A_VIOLATES}


@patient
@given(evidences)
def test_swapping_the_platforms_swaps_the_answer(evidence: Evidence) -> None:
    one, other = arbitrate(evidence), arbitrate(evidence.swapped())
    assert other.ruling is MIRROR.get(one.ruling, one.ruling)
    assert (one.signature_a, one.signature_b) == (other.signature_b, other.signature_a)
    assert (one.ratio, one.differing, one.elements, one.clause) == (
        other.ratio, other.differing, other.elements, other.clause,
    )  # fmt: skip


@patient
@given(evidences)
def test_swapping_twice_changes_nothing(evidence: Evidence) -> None:
    assert evidence.swapped().swapped() == evidence


def _equal(evidence: Evidence) -> Evidence:
    return replace(evidence, gaps=tuple(replace(g, differing=0) for g in evidence.gaps))


@patient
@given(evidences)
def test_equal_bits_are_never_a_gap_in_the_contract(evidence: Evidence) -> None:
    assert arbitrate(_equal(evidence)).ruling not in (Ruling.UNDER_SPECIFIED, Ruling.LEGITIMATE)


@patient
@given(evidences)
def test_nobody_is_accused_without_evidence_against_itself(evidence: Evidence) -> None:
    found = arbitrate(evidence)
    against_a = evidence.a.verdict is Verdict.VIOLATES or any(g.outside_a for g in evidence.gaps)
    against_b = evidence.b.verdict is Verdict.VIOLATES or any(g.outside_b for g in evidence.gaps)
    if not against_a:
        assert found.ruling not in (Ruling.A_VIOLATES, Ruling.BOTH_VIOLATE)
    if not against_b:
        assert found.ruling not in (Ruling.B_VIOLATES, Ruling.BOTH_VIOLATE)
    if (against_a or against_b) and not evidence.obstacles:
        assert found.ruling in (Ruling.A_VIOLATES, Ruling.B_VIOLATES, Ruling.BOTH_VIOLATE)


@patient
@given(evidences)
def test_a_legitimate_divergence_is_one_between_conforming_platforms_within_what_is_permitted(
    evidence: Evidence,
) -> None:
    found = arbitrate(evidence)
    if found.ruling is Ruling.LEGITIMATE:
        assert evidence.a.verdict is evidence.b.verdict is Verdict.CONFORMS
        assert all(g.ratio <= 1 and not g.clause for g in evidence.gaps if g.differing)
        assert found.differing


@patient
@given(evidences)
def test_every_answer_has_a_reason(evidence: Evidence) -> None:
    found = arbitrate(evidence)
    assert found.reason
    assert (found.ruling is Ruling.UNDER_SPECIFIED) == bool(found.clause)


def test_an_obstacle_comes_before_everything() -> None:
    found = arbitrate(Evidence(VIOLATES, CONFORMS, (SAME,), ("other seeds",)))
    assert found == Judgement(Ruling.NOT_COMPARABLE, "other seeds")


def test_equal_bits_of_two_that_violate_are_no_excuse() -> None:
    assert arbitrate(Evidence(VIOLATES, VIOLATES, (SAME,))).ruling is Ruling.BOTH_VIOLATE


def test_an_answer_outside_of_the_bound_accuses_although_the_samples_did_not_show_it() -> None:
    found = arbitrate(Evidence(CONFORMS, CONFORMS, (replace(SAME, differing=2, outside_b=2),)))
    assert found.ruling is Ruling.B_VIOLATES
    assert "2 recorded elements outside the bound" in found.signature_b


@pytest.mark.parametrize("verdict", [Verdict.INCONCLUSIVE, Verdict.ERROR])
def test_other_bits_of_an_undecided_platform_are_not_comparable(verdict: Verdict) -> None:
    undecided = Standing(verdict, "the oracle is too weak")
    found = arbitrate(Evidence(CONFORMS, undecided, (replace(SAME, differing=2, ratio=0.1),)))
    assert found.ruling is Ruling.NOT_COMPARABLE
    assert "B is" in found.reason
    assert arbitrate(Evidence(CONFORMS, undecided, (SAME,))).ruling is Ruling.IDENTICAL


def test_every_missing_clause_is_named() -> None:
    gaps = (replace(SAME, differing=1, clause="policy nan"), replace(SAME, differing=1, clause="policy inf"))
    assert arbitrate(Evidence(CONFORMS, CONFORMS, gaps)).clause == "policy nan; policy inf"


def test_nothing_recorded_is_no_agreement() -> None:
    assert arbitrate(Evidence(CONFORMS, CONFORMS)).ruling is Ruling.NOT_COMPARABLE

"""The determinism class: what it plans and what it says was measured; the order class and its note on the tree."""

from __future__ import annotations

import pytest
from made_evidence import seen

from kernel_contracts.classes import classes
from kernel_contracts.contracts.catalogue import load_text, standard_library
from kernel_contracts.contracts.determinism import AXES, promise_of
from kernel_contracts.contracts.evidence import Finding, Observation, Verdict
from kernel_contracts.contracts.model import Contract
from kernel_contracts.errors import LanguageError
from kernel_contracts.vocabulary import vocabulary

TEXT = """contract c version 1.0 implements C-ORD-02
{{
  scope     sum for P in {{fp32}} (x: P[R, N]) -> y: P[R]
  pre       R, N in 1..64 and finite(x)
  post      y within tolerance of reference and policy determinism = {policy}
  reference {{ y = sum(x, axis = -1) }}
}}
"""


def written(policy: str) -> Contract:
    (found,) = load_text(TEXT.format(policy=policy), "c.kc", vocabulary())
    return found


def judge(policy: str, *observations: Observation) -> Finding:
    contract = written(policy)
    return classes()["C-ORD-02"].judge(contract, contract.bound[0], observations)


STEADY = seen(facts={"runs": "same", "threads": "same"}, readings={"answers": 1.0, "spread": 0.0})
MOVING = seen(
    facts={"runs": "same", "threads": "2 threads gave another answer than 1 thread"},
    readings={"answers": 2.0, "spread": 3e-7},
)
BROKEN = seen(
    0.1, defect="run_dependent", detail="10 calls (the same call) gave 4 answers", facts={"runs": "10 calls gave 4"},
    readings={"answers": 4.0, "spread": 1e-6},
)  # fmt: skip


def test_a_promise_names_its_axes_and_their_numbers() -> None:
    promise = promise_of(written("bitwise across runs(7), threads, load"))
    assert promise.level == "bitwise"
    assert promise.axes == {"runs": (7,), "threads": AXES["threads"], "load": AXES["load"]}
    assert all(promise.binding(a) for a in AXES)


@pytest.mark.parametrize(
    ("policy", "binding"),
    [("run_to_run", {"runs", "processes", "load"}), ("bounded", set()), ("none", set()), ("bitwise or bounded", set())],
)
def test_what_breaks_a_promise_depends_on_its_level(policy: str, binding: set[str]) -> None:
    promise = promise_of(written(f"{policy} across runs(5), threads(1, 2)"))
    assert {a for a in AXES if promise.binding(a)} == binding


def test_a_contract_without_the_policy_promises_nothing_and_is_repeated() -> None:
    found = next(c for c in standard_library(vocabulary()) if c.name == "sum-pairwise")
    promise = promise_of(found)
    assert (promise.level, dict(promise.axes)) == ("none", {"runs": AXES["runs"]})


@pytest.mark.parametrize(
    ("across", "says"),
    [
        ("streams(3)", "a call cannot be repeated across streams"),
        ("thread(2)", "did you mean `threads`?"),
        ("runs(0)", "a whole number from 1 to 1000"),
        ("runs(2.5)", "a whole number from 1 to 1000"),
    ],
)
def test_an_axis_that_means_nothing_is_refused_when_the_contract_is_read(across: str, says: str) -> None:
    with pytest.raises(LanguageError, match="N215") as found:
        written(f"bitwise across {across}")
    assert says in str(found.value)


def test_the_measured_class_stands_beside_the_declared_one() -> None:
    found = judge("bitwise across runs(5), threads(1, 2), alignment", STEADY, STEADY)
    assert found.verdict is Verdict.CONFORMS
    assert found.reason == "all 2 cases gave the same bits every time"
    assert found.notes == (
        "declared bitwise; measured the same bits across runs, threads",
        "not measured here: alignment",
    )


def test_a_weaker_class_is_met_and_its_spread_is_told() -> None:
    found = judge("run_to_run across runs(5), threads(1, 2)", STEADY, MOVING)
    assert found.verdict is Verdict.CONFORMS
    assert found.reason == "all 2 cases gave the same bits in the same setting"
    assert found.notes == (
        "declared run_to_run; measured the same bits across runs; other bits across threads",
        "answers differ by up to 3e-07 of their size, 2 to one case",
    )


def test_no_promise_is_the_lowest_grade_and_says_so() -> None:
    found = judge("none across runs(5), threads(1, 2)", MOVING)
    assert found.verdict is Verdict.CONFORMS
    assert "the lowest grade" in found.reason


def test_a_broken_promise_names_what_the_bits_depend_on() -> None:
    found = judge("bitwise across runs(10)", STEADY, BROKEN)
    assert found.verdict is Verdict.VIOLATES
    assert str(found.signature) == "run_dependent: 10 calls (the same call) gave 4 answers"
    assert (found.samples, found.failures) == (2, 1)
    assert found.notes[0] == "declared bitwise; measured the same bits across threads; other bits across runs"


def test_who_wins_a_cell_is_told() -> None:
    last = seen(facts={"runs": "same", "ties": "last"}, readings={"answers": 1.0, "spread": 0.0})
    either = seen(facts={"runs": "same", "ties": "either"}, readings={"answers": 1.0, "spread": 0.0})
    assert "of several writes to one cell wins: last" in judge("bitwise across runs(5)", last, either).notes


def order_notes(*observations: Observation) -> tuple[str, ...]:
    found = next(c for c in standard_library(vocabulary()) if c.name == "sum-pairwise")
    return classes()["C-ORD-01"].judge(found, found.bound[0], observations).notes


def test_the_revealed_order_is_a_note_and_no_verdict() -> None:
    deep = {"order_terms": 128.0, "declared_depth": 7.0, "depth": 18.0}
    assert order_notes(seen(facts={"order": "lanes(8)"}, readings=deep)) == (
        "128 terms are added by lanes(8): depth 18, more than the declared 7",
    )
    assert order_notes(seen(facts={"order": "pairwise"}, readings={**deep, "depth": 7.0})) == (
        "128 terms are added by pairwise: depth 7, within the declared 7",
    )
    none = {k: v for k, v in deep.items() if k != "depth"}
    assert order_notes(seen(facts={"order": "none"}, readings=none)) == (
        "128 terms: no single order of additions explains the answers",
    )
    assert order_notes(seen()) == ()

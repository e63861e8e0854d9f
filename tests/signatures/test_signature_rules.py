"""Each signature matches the evidence it is made for, and leaves other evidence alone."""

from __future__ import annotations

import importlib
from dataclasses import replace
from pathlib import Path

import pytest
from made_evidence import evidence, seen

from kernel_contracts.contracts.evidence import Layout, Observation, Outcome
from kernel_contracts.numerics.mutants import mutants
from kernel_contracts.signatures import Evidence, recognize, signatures
from kernel_contracts.signatures.base import EXPLAINS

RULES = signatures()
BY_OUTCOME = {"crashed", "hung", "out_of_memory", "raised"}
BY_DEFECT = {
    "alignment_dependent", "batch_dependent", "cache_dependent", "cached_output", "caller_state_changed",
    "fallback_used", "first_call_differs", "judge_tampered", "late_write", "load_dependent", "rank_disagreement",
    "run_dependent", "scale_dependent", "seed_replay", "stale_output", "subnormals_mixed", "thread_dependent",
    "tuning_leaves_trace", "unwritten_output", "wrong_count", "wrong_dtype", "wrong_shape", "wrong_type",
    "zero_mishandled",
}  # fmt: skip
BY_MUTANT = {m.signature for m in mutants().values()}
#: Signatures of mutants that are recognized by what came back; `wrong_value` is what is left without a name of its own.
BY_ANSWER = {"overflowed", "nan_lost", "index_misplaced", "wrong_value"}
INF = float("inf")
CONSTANT = {"output_constant": 1.0, "oracle_constant": 0.0}
RETURNED = {"input_returned": 1.0}
REFUSE = {"may_refuse": 1.0, "must_refuse": 1.0}


def explained(label: str, left: float = 0.02, **given: object) -> Observation:
    return seen(50.0, hypotheses={label: left}, **given)


def on_ranks(**readings: float) -> Observation:
    place = {"first": 5.0, "last": 7.0, "wrong": 3.0, "of": 8.0}
    return seen(9.0, readings={"world": 4.0, "call": 2.0, **place, **readings})


MATCHING: dict[str, list[tuple[Evidence, str]]] = {
    "input_mutated": [(evidence(seen(mutated=("A", "B"))), "A, B changed during the call")],
    "constant_output": [
        (
            evidence(seen(9.0, readings=CONSTANT), seen(8.0, readings=CONSTANT), seen(7.0, size=1)),
            "every element is 3 in all 2",
        )
    ],
    "input_returned": [
        (
            evidence(seen(9.0, readings=RETURNED), seen(8.0, readings=RETURNED), seen(0.1)),
            "the output is an input, bit for bit, in all 2",
        )
    ],
    "result_forged": [
        (
            evidence(seen(outcome=Outcome.CRASHED, detail="tampered with the control channel: an answer out of turn")),
            "an answer out of turn",
        )
    ],
    "accepted_unsupported": [(evidence(seen(9.0, readings=REFUSE, D=63)), "at D=63, where it must raise")],
    "layout_ignored": [
        (
            evidence(seen(9.0, layout=Layout.STRIDED), seen(9.0, layout=Layout.OFFSET), seen(0.1)),
            "wrong on offset, strided inputs, right on contiguous ones",
        )
    ],
    "overflowed": [
        (evidence(seen(1e9, "offset(1..1e4)", nonfinite=5), seen(3.0)), "5 of 16 elements NaN or infinite"),
        (evidence(seen(1e9, "range(16)", nonfinite=16)), "(under range(16))"),
    ],
    "tail_dropped": [
        (
            evidence(seen(9.0, boundary={"axis 1": 96}, N=100), seen(9.0, boundary={"axis 1": 32}, N=40)),
            "along axis 1 everything before index 32 is right, then wrong: the tile is 32",
        )
    ],
    "parameter_ignored": [
        (
            evidence(
                *(seen(9.0, scalars={"eps": 1e-3 * k}, id=k) for k in range(1, 4)),
                *(seen(0.1, scalars={"eps": 1e-5}, id=k) for k in range(4, 6)),
            ),
            "right only at eps = 1e-05",
        )
    ],
    "schedule_dependent": [
        (
            evidence(seen(9.0, facts={"schedule": "tile=128"}, readings={"right_schedules": 3.0})),
            "under schedule tile=128 16 of 16 elements are outside the bound, the worst by 9 times; 3 other schedules",
        ),
        (
            evidence(seen(0.1, defect="schedule_dependent", detail="a and b give other bits", outputs=())),
            "a and b give other bits",
        ),
    ],
    "accumulator_narrowed": [
        (
            evidence(seen(9.0, "exact"), seen(0.5, "width", readings={"effective_bits": 11.0})),
            "11 bits effective, 24 declared",
        ),
        (evidence(seen(9.0, "exact", exact_wrong=1), seen(0.5)), "come out wrong under exact"),
        (evidence(on_ranks(narrow_bits=8.0), on_ranks(narrow_bits=11.0)), "what sums of 8 bits give, 24 declared"),
        (evidence(seen(9.0, "swamping", exact_wrong=2), seen(0.5)), "fewer than 24 bits effective"),
    ],
    "cancelled": [
        (
            evidence(seen(500.0, "offset(1..1e4)", readings={"offset": 40.0}), seen(0.5)),
            "from an offset of 40 times the spread",
        ),
        (evidence(seen(500.0, "cancelling(1e6)"), seen(0.5)), "by up to 500 times the bound"),
    ],
    "hard_coded_shape": [
        (
            evidence(seen(9.0, shape_family="primes", N=7), seen(9.0, shape_family="thin"), seen(0.1)),
            "right at all 1 usual shapes, wrong at 2 of 2 others, first at N=7",
        )
    ],
    "unscaled_twice": [
        (evidence(seen(9.0, scalars={"scale": 8.0}, readings={"factor": 0.126})), "1/8 of what is right"),
        (
            evidence(seen(9.0, scalars={"scale": 1.0}, readings={"factor": 2.0**-9, "scale in the call": 512.0})),
            "1/512 of what is right",
        ),
    ],
    "never_unscaled": [
        (evidence(seen(9.0, scalars={"scale": 8.0}, readings={"factor": 8.01})), "8 times what is right, scale"),
    ],
    "nan_lost": [
        (
            evidence(seen(INF, "nan at x[3]", readings={"nan_lost": 1.0}), seen(INF, "nan at x[*]")),
            "nan at x[3] gives 3 in 1 of 2 cases",
        ),
        (evidence(seen(INF, "nan at x[*]", readings={"index_wrong": 2.0}, facts={"nan": "mixed"})), "gives 3"),
    ],
    "position_dependent": [
        (
            evidence(seen(INF, "nan at x[3]", readings={"nan_lost": 1.0}), seen(0.0, "nan at x[0]")),
            "NaN in x is found at 0 and lost at 3",
        )
    ],
    "nan_spread": [(evidence(seen(INF, "inf at x[1]", readings={"inf_spread": 4.0})), "4 of 16 elements NaN or inf")],
    "inf_for_nan": [(evidence(seen(INF, "nan at x[1]", readings={"inf_for_nan": 1.0})), "1 of 16 elements infinite")],
    "inf_sign_wrong": [(evidence(seen(INF, "-inf at x[1]", readings={"inf_sign_wrong": 1.0})), "wrong sign")],
    "inf_lost": [(evidence(seen(INF, "inf at x[1]", readings={"inf_lost": 1.0})), "finite where an infinity is due")],
    "finite_changed": [(evidence(seen(INF, "nan at x[1]", readings={"finite_changed": 2.0})), "2 of 16 elements")],
    "input_flushed": [
        (
            evidence(seen(INF, readings={"input_flushed": 3.0, "least_normal": -126.0})),
            "|x| < 2^-126 read as 0 in 3 of 16 elements",
        ),
        (
            evidence(
                seen(INF, layout=Layout.STRIDED, readings={"input_flushed": 3.0, "input_at_stake": 9.0}),
                seen(0.0, readings={"input_at_stake": 9.0}),
            ),
            "with strided inputs only",
        ),
        (
            evidence(seen(INF, readings={"either_flushed": 16.0, "flushed_from": 8.0, "least_normal": -14.0})),
            "|x| < 2^-14 read or written as 0 in 16 of 16 elements, in the tail only: from element 8",
        ),
    ],
    "result_flushed": [
        (
            evidence(
                seen(INF, N=64, readings={"result_flushed": 2.0}), seen(0.0, N=4, readings={"result_at_stake": 2.0})
            ),
            "written as 0 in 2 of 16 elements: 0 where 1 is due, in large arrays only: at N = 64",
        ),
        (
            evidence(seen(9.0, zeros=1, readings={"flushing_ratio": 0.5}), seen(0.5)),
            "right but for numbers below the least normal one: 3 where 1 is due",
        ),
    ],
    "intermediate_flushed": [
        (evidence(seen(INF, "least in all", readings={"intermediate_flushed": 1.0})), "least in all: 1 of 16 elements")
    ],
    "subnormals_kept": [(evidence(seen(INF, readings={"subnormals_kept": 2.0})), "2 of 16 elements keep")],
    "payload_changed": [(evidence(seen(INF, "bits", readings={"payload_changed": 2.0})), "2 of 16 elements NaN with")],
    "sign_of_zero_lost": [(evidence(seen(INF, "-0 at x[1]", readings={"zero_sign_lost": 1.0})), "wrong sign")],
    "index_misplaced": [(evidence(seen(INF, "-inf at x[*]", readings={"index_wrong": 4.0})), "4 of 16 elements are")],
    "not_raised": [(evidence(seen(INF, "nan at x[1]", readings={"must_raise": 1.0})), "gives a result")],
    "raised_instead": [
        (
            evidence(seen(family="i[0] = n", outcome=Outcome.RAISED, detail="E", readings={"raised_instead": 1.0})),
            "i[0] = n raises E",
        )
    ],
    "clamped": [(evidence(seen(INF, "i[0] = n", facts={"out_of_bounds": "clamp"})), "the nearest end")],
    "wrapped": [(evidence(seen(INF, "i[0] = n", facts={"out_of_bounds": "wrap"})), "from the other end")],
    "zero_filled": [(evidence(seen(INF, "i[0] = n", facts={"out_of_bounds": "zero"})), "i[0] = n gives zeros")],
    "dropped": [(evidence(seen(INF, "i[0] = -1", facts={"negative_index": "drop"})), "is left out without a word")],
    "foreign_memory": [(evidence(seen(INF, "i[0] = n", facts={"out_of_bounds": "foreign memory"})), "no policy")],
    "neighbour_changed": [(evidence(seen(INF, "i[0] = n", readings={"spilled": 3.0})), "3 of 16 elements changed")],
    "message_mismatched": [
        (
            evidence(seen(outcome=Outcome.RAISED, detail="MessageMismatch: rank 1 sent float32[3] on rank 0 of 2")),
            "rank 1 sent float32[3]",
        )
    ],
    "send_buffer_mutated": [
        (evidence(seen(mutated=("x",), readings={"world": 4.0, "mutated_rank": 2.0})), "x of rank 2 of 4 changed")
    ],
    "stale_read": [(evidence(on_ranks(stale=0.9, lost=0.6)), "3 elements from 5 to 7 of 8, on 4 ranks in call 2: 90%")],
    "early_read": [
        (evidence(on_ranks(unfilled=1.0, stale=0.5)), "memory that nothing had been written to yet"),
        (evidence(on_ranks(other_place=0.75)), "in 75% of them the rank's part of another place"),
    ],
    "bucket_lost": [
        (evidence(on_ranks(lost=0.9, lost_rank=3.0)), "the part of rank 3 is missing"),
        (evidence(on_ranks(own_only=1.0)), "nothing of the other ranks has arrived"),
    ],
    "local_shard_returned": [(evidence(on_ranks(own_only=1.0, wrong=8.0)), "on 4 ranks each returns its own part")],
    "counted_twice": [(evidence(on_ranks(twice=0.9)), "in the sum twice")],
    "rank_count_dependent": [
        (
            evidence(on_ranks(), *(seen(0.1, readings={"world": w}) for w in (1.0, 2.0))),
            "right on 1, 2 ranks, wrong on 4",
        )
    ],
    "wrong_value": [(evidence(seen(9.0), seen(0.1)), "16 of 16 elements of y outside the bound, the worst by 9 times")],
}  # fmt: skip
SILENT: dict[str, list[Evidence]] = {
    "input_mutated": [evidence(seen(9.0))],
    "constant_output": [
        evidence(seen(9.0, readings={"output_constant": 1.0, "oracle_constant": 1.0})),
        evidence(seen(9.0, readings=CONSTANT), seen(9.0, readings={"output_constant": 0.0, "oracle_constant": 0.0})),
        evidence(seen(9.0, size=1, readings=CONSTANT)),
    ],
    "input_returned": [evidence(seen(9.0, readings={"input_returned": 1.0}), seen(8.0)), evidence(seen(9.0))],
    "result_forged": [evidence(seen(outcome=Outcome.CRASHED, detail="killed by SIGSEGV")), evidence(seen(9.0))],
    "accepted_unsupported": [evidence(seen(9.0)), evidence(seen(9.0, readings={"must_refuse": 0.0}))],
    "layout_ignored": [
        evidence(seen(9.0, layout=Layout.STRIDED), seen(9.0)),
        evidence(seen(9.0, layout=Layout.STRIDED)),
        evidence(seen(0.1), seen(0.1, layout=Layout.STRIDED), seen(outcome=Outcome.CRASHED)),
    ],
    "overflowed": [evidence(seen(9.0)), evidence(seen(9.0, nonfinite=1), *(seen(9.0, id=k) for k in range(3)))],
    "tail_dropped": [
        evidence(seen(9.0)),
        evidence(seen(9.0, boundary={"axis 0": 32}), seen(9.0)),
        evidence(seen(9.0, boundary={"axis 0": 33})),
    ],
    "parameter_ignored": [
        evidence(seen(9.0, scalars={"eps": 1.0}), seen(0.1, scalars={"eps": 1e-5})),
        evidence(*(seen(9.0, scalars={"eps": 1e-5}, id=k) for k in range(4)), seen(0.1, scalars={"eps": 1e-5})),
        evidence(*(seen(9.0, scalars={"eps": 1.0 * k}, id=k) for k in range(1, 9)), seen(0.1, scalars={"eps": 1e-5})),
    ],
    "accumulator_narrowed": [
        evidence(seen(9.0)),
        evidence(seen(9.0, "normal"), seen(0.5, "width", readings={"effective_bits": 24.0})),
        evidence(seen(9.0, "exact"), seen(9.0, "permutation")),
        evidence(on_ranks(narrow_bits=8.0), on_ranks(), on_ranks()),
    ],
    "cancelled": [evidence(seen(9.0)), evidence(seen(9.0, "offset(1..1e4)"), seen(8.0, "normal"))],
    "hard_coded_shape": [
        evidence(seen(9.0, shape_family="primes"), seen(0.1)),
        evidence(seen(9.0, shape_family="primes"), seen(9.0, shape_family="thin"), seen(9.0)),
        evidence(seen(9.0, shape_family="primes"), seen(9.0, shape_family="thin")),
    ],
    "position_dependent": [
        evidence(seen(INF, "nan at x[3]", readings={"nan_lost": 1.0}), seen(INF, "nan at x[0]")),
        evidence(seen(INF, "nan at x[*]", readings={"nan_lost": 1.0}), seen(0.0, "nan at x[0]")),
    ],
    "unscaled_twice": [
        evidence(seen(9.0, scalars={"scale": 8.0}, readings={"factor": 0.5})),
        evidence(seen(9.0, scalars={"scale": 1.0}, readings={"factor": 1.0})),
        evidence(
            seen(
                9.0, scalars={"scale": 8.0}, readings={"factor": 0.125}, hypotheses={"clip_before_unscale: a": 0.01}
            )
        ),
    ],
    "clamped": [evidence(seen(0.0, "i[0] = n", facts={"out_of_bounds": "clamp"}))],
    "message_mismatched": [evidence(seen(outcome=Outcome.RAISED, detail="ValueError: no"))],
    "send_buffer_mutated": [evidence(seen(mutated=("x",)))],
    "stale_read": [evidence(on_ranks(unfilled=1.0, stale=1.0)), evidence(seen(9.0))],
    "early_read": [evidence(on_ranks(stale=1.0, other_place=0.5))],
    "bucket_lost": [evidence(on_ranks(stale=1.0, lost=1.0)), evidence(on_ranks())],
    "local_shard_returned": [evidence(on_ranks(own_only=1.0))],
    "counted_twice": [evidence(on_ranks(lost=0.5, twice=0.5))],
    "rank_count_dependent": [
        evidence(on_ranks(), seen(0.1, readings={"world": 1.0})),
        evidence(on_ranks(), seen(0.1, readings={"world": 4.0})),
    ],
    "wrong_value": [evidence(seen(outcome=Outcome.CRASHED))],
}  # fmt: skip


@pytest.mark.parametrize(("name", "made", "says"), [(n, e, s) for n, es in MATCHING.items() for e, s in es])
def test_a_rule_matches_what_it_is_made_for(name: str, made: Evidence, says: str) -> None:
    assert says in (RULES[name].match(made) or "")
    found = recognize(made)
    assert found.name == name
    assert says in str(found)


@pytest.mark.parametrize(("name", "made"), [(n, e) for n, es in SILENT.items() for e in es])
def test_a_rule_leaves_other_evidence_alone(name: str, made: Evidence) -> None:
    assert RULES[name].match(made) is None


@pytest.mark.parametrize("name", sorted(BY_OUTCOME))
def test_an_ending_is_its_own_signature(name: str) -> None:
    made = evidence(seen(outcome=Outcome(name), detail="why"), seen(9.0))
    assert RULES[name].match(made) == "why"
    assert all(RULES[other].match(made) is None for other in BY_OUTCOME - {name})
    assert RULES[name].match(evidence(seen(9.0), seen(outcome=Outcome(name)))) is None, "the witness counts"


@pytest.mark.parametrize("name", sorted(BY_DEFECT))
def test_a_defect_is_its_own_signature(name: str) -> None:
    made = evidence(seen(defect=name, detail="what"), seen(9.0))
    assert str(recognize(made)) == f"{name}: what"
    assert all(RULES[other].match(made) is None for other in BY_DEFECT - {name})


@pytest.mark.parametrize("mutant", mutants().values(), ids=lambda m: m.name)
def test_a_mutant_that_explains_the_error_names_the_defect(mutant: object) -> None:
    name, signature = mutant.name, mutant.signature  # type: ignore[attr-defined]
    label = f"{name}(x, 4): in some place"
    made = evidence(explained(label), explained(label, 0.1), seen(0.1))
    assert signature in RULES
    if signature not in BY_ANSWER:
        assert "in some place explains 94% of the error" in (RULES[signature].match(made) or "")
        assert recognize(made).name == signature
    weak = evidence(explained(f"{name}: p", EXPLAINS + 0.01), seen(0.1))
    assert recognize(weak).name == "wrong_value"


def test_the_best_explanation_wins() -> None:
    made = evidence(seen(50.0, hypotheses={"operands(tf32): a": 0.2, "partial(fp16, 4): b": 0.01}))
    assert recognize(made).name == "partial_sums_narrowed"
    assert made.explained_by("operands") is None
    assert evidence(seen(50.0)).explanation() is None
    assert evidence(seen(0.5, hypotheses={"operands: a": 0.0})).explanation() is None, "it passed"


def test_an_explanation_of_few_failures_is_none() -> None:
    hypothesis = {"operands(tf32): a": 0.01}
    others = [seen(50.0, hypotheses={"narrow(bf16): c": 0.9}, id=k) for k in range(3)]
    assert evidence(seen(50.0, hypotheses=hypothesis), *others).explanation() is None


def test_rules_are_tried_in_the_order_of_their_rank() -> None:
    ranks = [r.rank for r in RULES.values()]
    assert ranks == sorted(ranks)
    assert list(RULES)[-1] == "wrong_value"
    by_kind = [min(RULES[n].rank for n in group) for group in (BY_OUTCOME, {"input_mutated"}, BY_DEFECT)]
    assert by_kind == sorted(by_kind)
    early = {"input_mutated", "raised_instead", "result_forged", "send_buffer_mutated", "message_mismatched"}
    assert by_kind[-1] < min(RULES[n].rank for n in set(RULES) - BY_OUTCOME - BY_DEFECT - early)


def test_what_happened_comes_before_what_explains_the_numbers() -> None:
    label = {"operands(tf32): a": 0.0}
    crash = seen(outcome=Outcome.CRASHED, detail="killed")
    assert recognize(evidence(crash, seen(50.0, hypotheses=label))).name == "crashed"
    assert recognize(evidence(seen(50.0, hypotheses=label, mutated=("x",)))).name == "input_mutated"
    assert recognize(evidence(seen(50.0, hypotheses=label, readings=CONSTANT))).name == "constant_output"


@pytest.mark.parametrize(
    "other",
    [
        seen(9.0, zeros=1, readings={"flushing_ratio": 1.5}),
        seen(9.0, zeros=0, readings={"flushing_ratio": 0.5}),
        seen(9.0, zeros=1),
        explained("scale(2): y", zeros=1, readings={"flushing_ratio": 0.5}),
    ],
)
def test_flushing_is_named_only_where_it_explains_every_failure(other: Observation) -> None:
    flushing = seen(9.0, zeros=1, readings={"flushing_ratio": 0.5})
    assert recognize(evidence(flushing)).name == "result_flushed"
    assert recognize(evidence(flushing, other)).name != "result_flushed"


def test_flushing_explains_all_where_a_known_fault_explains_some() -> None:
    """Small numbers at the end of rows are lost like a tail; the same are lost elsewhere in another case."""
    tail = {"drop_tail(16): the tail of y": 0.04}
    first = seen(9.0, zeros=1, readings={"flushing_ratio": 0.5}, hypotheses=tail)
    rest = seen(3e4, zeros=1, readings={"flushing_ratio": 0.3}, hypotheses={"narrow(bf16): e held in bf16": 0.9998})
    assert recognize(evidence(first, rest)).name == "result_flushed"
    assert recognize(evidence(first, replace(rest, hypotheses=tail))).name == "tail_dropped"
    assert recognize(evidence(first)).name == "tail_dropped"


def test_a_probe_tells_of_an_accumulator_only_where_one_answer_is_right() -> None:
    """Under softmax the terms of an exact sum are exponentials, and a tolerance is what was missed."""
    assert recognize(evidence(seen(1.15, "exact"), seen(0.5))).name == "wrong_value"


@pytest.mark.parametrize("readings", [{"flushing_ratio": 0.5}, {"result_flushed": 1.0, "flushing_ratio": 2.0}])
def test_what_is_flushed_in_another_layout_by_chance_is_no_matter_of_the_layout(readings: dict[str, float]) -> None:
    right = [seen(0.5), seen(0.5, layout=Layout.STRIDED)]
    wrong = seen(9.0, zeros=1, layout=Layout.STRIDED, readings=readings)
    assert recognize(evidence(wrong, *right)).name == "result_flushed"
    assert recognize(evidence(seen(9.0, zeros=1, layout=Layout.STRIDED), *right)).name == "layout_ignored"


def test_every_rule_is_found_and_documented() -> None:
    package = importlib.import_module("kernel_contracts.signatures")
    files = {p.stem for p in Path(str(package.__file__)).parent.glob("*.py")} - {"__init__", "base", "flushing"}
    assert set(RULES) == files
    assert all(name == rule.name and rule.doc.endswith(".") for name, rule in RULES.items())
    covered = set(MATCHING) | BY_OUTCOME | BY_DEFECT | BY_MUTANT
    assert {n for n in RULES if RULES[n].always} <= covered, "a rule without an example"
    assert recognize(evidence(seen(outcome=Outcome.RETURNED, skipped="x"))).name == "wrong_value"

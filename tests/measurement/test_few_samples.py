"""However few samples are asked for, everything that a claim speaks of is tried; else nothing conforms."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest
from policy_kernels import declared, judged, story

from kernel_contracts.classes import classes
from kernel_contracts.contracts.catalogue import standard_library
from kernel_contracts.contracts.evidence import Case, Finding, Verdict
from kernel_contracts.contracts.model import Contract
from kernel_contracts.measurement.experiments import experiments
from kernel_contracts.vocabulary import vocabulary

THINNED = [c for c in standard_library(vocabulary()) if c.class_id in ("C-EXC-01", "C-EXC-02", "C-PRC-03")]
ROW = "row for P in {fp32} (x: P[N]) -> y: P[N]"
TABLE = "read for P in {fp32} (x: P[V, D], i: int64[T]) -> y: P[T, D]"
INSIDE = "V in 1..64 and D in 1..16 and T in 1..64 and i in 0..V-1"


def planned(contract: Contract, samples: int | None) -> list[Case]:
    bound = contract.bound[0]
    plan = classes()[contract.class_id].plan(contract, bound)
    return experiments()[plan.experiment].cases(contract, bound, plan, seed=5, samples=samples)


def anywhere(case: Case) -> str:
    """What a case puts in, without the place."""
    return re.sub(r"\[\d+\]", "[]", case.family)


@pytest.mark.parametrize("contract", THINNED, ids=lambda c: c.name)
def test_one_sample_tries_everything_once(contract: Contract) -> None:
    whole, few = planned(contract, None), planned(contract, 1)
    alone = {anywhere(c) for c in whole if "," not in c.family}
    assert alone <= {anywhere(c) for c in few} or contract.class_id == "C-EXC-02"
    told = {words.partition("=")[2] for c in whole for words in c.family.split(",")}
    assert told == {words.partition("=")[2] for c in few for words in c.family.split(",")}
    assert {c.layout for c in few} == {c.layout for c in whole}
    assert len(few) <= len(whole)
    assert few == [c for c in whole if c in few], "the cases are those of the whole plan, in its order"


@pytest.mark.parametrize("samples", [1, 2, 4, 7])
@pytest.mark.parametrize("value", ["nan", "inf", "-inf"])
def test_a_value_that_is_lost_everywhere_is_found_with_any_number_of_samples(value: str, samples: int) -> None:
    contract = declared("C-EXC-01", ROW, "N in 1..1024", "y = -x", "nan = propagate and inf = propagate")

    def loses(x: Any) -> Any:
        lost = np.isnan(x) if value == "nan" else x == float(value)
        return np.where(lost, 0, -x).astype(x.dtype)

    finding, _ = judged(contract, loses, samples=samples)
    assert finding.verdict is Verdict.VIOLATES, story(finding)
    assert judged(contract, np.negative, samples=samples)[0].verdict is Verdict.CONFORMS


@pytest.mark.parametrize("index", [-1, 10, 2**31 - 1])
def test_an_index_that_is_taken_wrongly_is_found_with_one_sample(index: int) -> None:
    contract = declared("C-EXC-02", TABLE, INSIDE, "y = gather(x, i, axis = 0)", "out_of_bounds = clamp")

    def kernel(x: Any, i: Any) -> Any:
        y = x[np.clip(i, 0, len(x) - 1)]
        y[i == index] = 99
        return y

    finding, _ = judged(contract, kernel, samples=1)
    assert finding.verdict is Verdict.VIOLATES, story(finding)


def without(contract: Contract, kernel: Any, *left_out: str) -> Finding:
    """The verdict on what is left when the cases with these words are not measured."""
    seen = [o for o in judged(contract, kernel)[1] if not any(w in o.case.family for w in left_out)]
    return classes()[contract.class_id].judge(contract, contract.bound[0], seen)


@pytest.mark.parametrize(("left_out", "told"), [("nan", "NaN"), ("inf", "an infinity")])
def test_what_was_never_given_is_not_said_to_conform(left_out: str, told: str) -> None:
    contract = declared("C-EXC-01", ROW, "N in 1..1024", "y = -x", "nan = propagate and inf = propagate")
    assert without(contract, np.negative).verdict is Verdict.CONFORMS
    finding = without(contract, np.negative, left_out)
    assert finding.verdict is Verdict.INCONCLUSIVE
    assert f"no case gave {told}" in finding.reason


def test_indices_that_all_lie_inside_decide_nothing() -> None:
    contract = declared("C-EXC-02", TABLE, INSIDE, "y = gather(x, i, axis = 0)", "out_of_bounds = clamp")
    seen = [o for o in judged(contract, lambda x, i: x[np.clip(i, 0, len(x) - 1)])[1] if not o.facts]
    assert seen
    finding = classes()["C-EXC-02"].judge(contract, contract.bound[0], seen)
    assert finding.verdict is Verdict.INCONCLUSIVE
    assert "an index outside" in finding.reason

"""Bad indices: every policy on reads and writes, negative ones apart, and what a kernel that differs is called."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from policy_kernels import declared, judged, story

from kernel_contracts import api
from kernel_contracts.classes import classes
from kernel_contracts.contracts.evidence import Outcome, Verdict
from kernel_contracts.contracts.model import Contract
from kernel_contracts.measurement.calls import CallResult
from kernel_contracts.measurement.experiments import experiments
from kernel_contracts.measurement.index_policy import NEGATIVE, OUT, indexing, kind, settle

Kernel = Callable[..., Any]
READ = "read for P in {fp32} (x: P[V, D], i: int64[N]) -> y: P[N, D]"
WRITE = "write for P in {fp32} (x: P[V, D], u: P[N, D], i: int64[N]) -> y: P[V, D]"
PRE = "V in 1..100 and D in 1..100 and N in 1..100 and 0 <= i and i < V"
RAISED = CallResult(Outcome.RAISED, "IndexError: out of bounds")


def reading(policies: str) -> Contract:
    return declared("C-EXC-02", READ, PRE, "y = gather(x, i, axis = 0)", policies)


def writing(policies: str) -> Contract:
    return declared("C-EXC-02", WRITE, PRE, "y = scatter(x, u, i, axis = 0)", policies)


def read_as(out: str, negative: str) -> Kernel:
    """Rows by index with bad indices treated as told."""

    def kernel(x: Any, i: Any) -> Any:
        y = []
        for k in i.tolist():
            way = out if not -len(x) <= k < len(x) else negative if k < 0 else ""
            if way == "raise":
                return RAISED
            row = x[min(max(k, 0), len(x) - 1)] if way == "clamp" else x[k % len(x)]
            y.append({"zero": 0 * row, "nan": np.nan * row, "foreign": 0 * row + 777}.get(way, row))
        return np.asarray(y, dtype=x.dtype)

    return kernel


def write_as(out: str, negative: str) -> Kernel:
    def kernel(x: Any, u: Any, i: Any) -> Any:
        y = x.copy()
        for k, row in zip(i.tolist(), u, strict=True):
            way = out if not -len(x) <= k < len(x) else negative if k < 0 else ""
            if way == "raise":
                return RAISED
            if way != "drop":
                y[min(max(k, 0), len(x) - 1) if way == "clamp" else k % len(x)] = row
        return y

    return kernel


READS, WRITES = ("raise", "clamp", "zero", "wrap"), ("raise", "clamp", "drop", "wrap")
NAMES = {"clamp": "clamped", "zero": "zero_filled", "wrap": "wrapped", "drop": "dropped", "raise": "raised_instead"}


@pytest.mark.parametrize("policy", READS)
@pytest.mark.parametrize("follows", READS)
def test_a_read_conforms_to_the_policy_that_it_follows_and_to_no_other(policy: str, follows: str) -> None:
    finding, _ = judged(reading(f"out_of_bounds = {policy}"), read_as(follows, follows))
    assert (finding.verdict is Verdict.CONFORMS) == (policy == follows), story(finding)
    assert f"out_of_bounds: {follows}" in finding.notes
    if policy != follows:
        assert finding.signature is not None
        assert finding.signature.name == NAMES[follows], story(finding)


@pytest.mark.parametrize("policy", WRITES)
@pytest.mark.parametrize("follows", WRITES)
def test_a_write_conforms_to_the_policy_that_it_follows_and_to_no_other(policy: str, follows: str) -> None:
    finding, _ = judged(writing(f"out_of_bounds_write = {policy}"), write_as(follows, follows))
    assert (finding.verdict is Verdict.CONFORMS) == (policy == follows), story(finding)
    if policy != follows:
        assert finding.signature is not None
        assert finding.signature.name == NAMES[follows], story(finding)


def test_negative_indices_are_a_policy_of_their_own() -> None:
    for out, negative in (("raise", "wrap"), ("clamp", "wrap"), ("zero", "raise")):
        contract = reading(f"out_of_bounds = {out} and negative_index = {negative}")
        finding, _ = judged(contract, read_as(out, negative))
        assert finding.verdict is Verdict.CONFORMS, story(finding)
        assert set(finding.notes) == {f"out_of_bounds: {out}", f"negative_index: {negative}"}
        assert judged(reading(f"out_of_bounds = {out}"), read_as(out, negative))[0].verdict is Verdict.VIOLATES
        assert judged(contract, read_as(negative, out))[0].verdict is Verdict.VIOLATES


@pytest.mark.parametrize("follows", [*READS, "nan", "foreign"])
def test_what_is_not_declared_is_named_and_no_accusation(follows: str) -> None:
    finding, _ = judged(reading(""), read_as(follows, follows))
    assert finding.verdict is Verdict.UNDER_SPECIFIED, story(finding)
    assert f"out_of_bounds: {follows.replace('foreign', 'foreign memory')}" in finding.reason


@pytest.mark.parametrize("follows", [*READS, "foreign"])
def test_undefined_admits_anything_in_the_place_of_a_bad_index(follows: str) -> None:
    assert judged(reading("out_of_bounds = undefined"), read_as(follows, follows))[0].verdict is Verdict.CONFORMS


def test_undefined_does_not_cover_the_good_indices_of_the_same_call() -> None:
    def spoiled(x: Any, i: Any) -> Any:
        good = (i >= 0) & (i < len(x))
        return x[np.clip(i, 0, len(x) - 1)] if good.all() else np.zeros((len(i), x.shape[1]), x.dtype)

    finding, _ = judged(reading("out_of_bounds = undefined"), spoiled)
    assert finding.verdict is Verdict.VIOLATES
    assert finding.signature is not None
    assert finding.signature.name == "neighbour_changed"


def test_foreign_memory_is_called_so() -> None:
    finding, _ = judged(reading("out_of_bounds = raise"), read_as("foreign", "foreign"))
    assert finding.signature is not None
    assert finding.signature.name == "foreign_memory"


def test_a_write_that_touches_another_row_is_found() -> None:
    def careless(x: Any, u: Any, i: Any) -> Any:
        y = write_as("drop", "drop")(x, u, i)
        if ((i < 0) | (i >= len(x))).any():
            y[len(x) // 2] += 1
        return y

    finding, _ = judged(writing("out_of_bounds = drop"), careless)
    assert finding.verdict is Verdict.VIOLATES, story(finding)
    assert finding.signature is not None
    assert finding.signature.name in ("foreign_memory", "neighbour_changed")


def test_good_indices_are_always_checked() -> None:
    finding, seen = judged(reading("out_of_bounds = raise"), lambda x, i: read_as("raise", "raise")(x[::-1], i))
    assert finding.verdict is Verdict.VIOLATES
    assert any(o.violating and not o.facts for o in seen)


def test_only_one_index_of_a_mixed_call_may_be_at_fault() -> None:
    """A kernel that looks at the first index only."""

    def first(x: Any, i: Any) -> Any:
        return RAISED if not 0 <= i[0] < len(x) else x[np.clip(i, 0, len(x) - 1)]

    finding, seen = judged(reading("out_of_bounds = raise"), first)
    assert finding.verdict is Verdict.VIOLATES
    assert {o.case.dims["N"] for o in seen if o.violating} == {5}


def test_an_index_cut_to_32_bits_is_found() -> None:
    finding, _ = judged(reading("out_of_bounds = raise"), lambda x, i: read_as("raise", "raise")(x, i.astype(np.int32)))
    assert finding.verdict is Verdict.VIOLATES
    assert finding.witness is not None
    assert finding.witness.case.family.endswith("2^32+1")


@pytest.mark.parametrize("dtype", ["uint8", "int8", "int32"])
def test_indices_fit_their_own_format(dtype: str) -> None:
    scope = READ.replace("int64", dtype)
    contract = declared("C-EXC-02", scope, PRE, "y = gather(x, i, axis = 0)", "out_of_bounds = clamp")
    finding, seen = judged(contract, read_as("clamp", "clamp"))
    assert finding.verdict is Verdict.CONFORMS, story(finding)
    assert any("-1" in o.case.family.partition("=")[2] for o in seen if o.facts) == (dtype != "uint8")
    assert judged(contract, read_as("wrap", "wrap"))[0].verdict is Verdict.VIOLATES


def test_fewer_cases_are_taken_from_all_over() -> None:
    contract = reading("out_of_bounds = raise")
    bound = contract.bound[0]
    plan = classes()["C-EXC-02"].plan(contract, bound)
    few = experiments()["indices"].cases(contract, bound, plan, seed=1, samples=8)
    assert 8 <= len(few) < len(experiments()["indices"].cases(contract, bound, plan, seed=1))
    assert {c.shape_family for c in few} >= {"inside", "alone", "mixed"}


def test_a_crash_is_an_outcome(tmp_path: Path) -> None:
    body = "    if index.max() >= len(table):\n        os.abort()\n    return table[index]\n"
    (tmp_path / "k.py").write_text(f"import os\n\ndef f(table, index):\n{body}", encoding="utf-8")
    (result,) = api.check(f"{tmp_path / 'k.py'}:f", "embedding", classes=["C-EXC-02"], dtypes=["fp32"], seed=1)
    assert result.verdict is Verdict.VIOLATES
    assert result.finding.signature is not None
    assert result.finding.signature.name == "crashed"


def test_indices_are_told_apart_by_where_they_lie() -> None:
    assert [kind(i, 10) for i in (0, 9, -1, -10, 10, -11)] == ["", "", NEGATIVE, NEGATIVE, OUT, OUT]
    index = np.array([[3, -1], [12, -13]])
    assert settle(index, 10, {OUT: "clamp", NEGATIVE: "wrap"}).tolist() == [[3, 9], [9, 0]]
    assert settle(index, 10, {OUT: "wrap", NEGATIVE: "zero"}).tolist() == [[3, 10], [2, 7]]


def test_the_size_that_an_index_runs_over_comes_from_the_precondition() -> None:
    contract = reading("out_of_bounds = raise")
    found = indexing(contract, contract.bound[0])
    assert found is not None
    assert (found.name, found.dim, found.writes) == ("i", "V", False)
    contract = writing("out_of_bounds = raise")
    found = indexing(contract, contract.bound[0])
    assert found is not None
    assert found.writes

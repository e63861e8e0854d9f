"""Kernels whose answers change: with the call, with the winner of two writes, with the number of threads."""

from __future__ import annotations

import numpy as np
import pytest

from kernel_contracts import api
from kernel_contracts.casebook.base import CONTRACTS
from kernel_contracts.checking import Result
from kernel_contracts.contracts.evidence import Verdict

FOLDER = CONTRACTS.parent / "cases"
SUMS = str(CONTRACTS / "sum_threads.kc")


def check(kernel: str, operation: str | None = None, contract: str | None = None, seed: int = 1) -> Result:
    (found,) = api.check(
        str(FOLDER / kernel), operation, contract=contract, classes=["C-ORD-02"], dtypes=["fp32"], seed=seed, samples=3,
    )  # fmt: skip
    return found


def note(found: Result, start: str) -> str:
    return next(n for n in found.finding.notes if n.startswith(start))


def accused(found: Result, defect: str) -> None:
    assert found.verdict is Verdict.VIOLATES, found.finding
    assert found.finding.signature is not None
    assert found.finding.signature.name == defect, found.finding
    assert found.finding.witness is not None


def test_atomic_adds_in_order_of_arrival() -> None:
    found = check("o16_atomic_adds.py:faulty", "scatter_add")
    accused(found, "run_dependent")
    assert "other bits across runs" in note(found, "declared bitwise; measured")
    steady = check("o16_atomic_adds.py:sibling", "scatter_add")
    assert steady.verdict is Verdict.CONFORMS, steady.finding
    assert note(steady, "declared bitwise").endswith("across runs, processes, load, threads, alignment")


def test_of_two_writes_to_one_cell_the_last_one_stays() -> None:
    found = check("o17_duplicate_writes.py:faulty", "scatter")
    accused(found, "run_dependent")
    assert "mixed" in note(found, "of several writes")
    steady = check("o17_duplicate_writes.py:sibling", "scatter")
    assert steady.verdict is Verdict.CONFORMS, steady.finding
    assert note(steady, "of several writes") == "of several writes to one cell wins: last"


def test_totals_of_threads_added_on_arrival() -> None:
    for name in ("sum-threads", "sum-run-to-run"):
        accused(check("o18_thread_totals.py:faulty", contract=f"{SUMS}:{name}"), "run_dependent")
        steady = check("o18_thread_totals.py:sibling", contract=f"{SUMS}:{name}")
        assert steady.verdict is Verdict.CONFORMS, steady.finding


def test_an_order_that_the_number_of_threads_decides_is_one_class_and_not_the_other() -> None:
    accused(check("o18_thread_totals.py:by_threads", contract=f"{SUMS}:sum-threads"), "thread_dependent")
    kept = check("o18_thread_totals.py:by_threads", contract=f"{SUMS}:sum-run-to-run")
    assert kept.verdict is Verdict.CONFORMS, kept.finding
    assert note(kept, "declared run_to_run").endswith("the same bits across runs; other bits across threads")


def test_the_numbers_of_the_reports() -> None:
    rng = np.random.default_rng(0)
    v = (rng.standard_normal(4096) * 10.0 ** rng.integers(-3, 4, 4096)).astype(np.float32)
    sums = {float(np.add.accumulate(v[rng.permutation(4096)])[-1]) for _ in range(10)}
    assert len(sums) >= 8
    x = np.random.default_rng(0).standard_normal(100000).astype(np.float32)
    parts = x.reshape(8, -1).sum(axis=1)
    folded = {float(np.add.accumulate(parts[rng.permutation(8)])[-1]) for _ in range(50)}
    assert len(folded) > 1
    assert max(folded) - min(folded) == pytest.approx(6e-5, rel=0.9)

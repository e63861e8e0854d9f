"""Tuned kernels as they were reported: candidates that share an output, carries for another tile, a launch too flat."""

from __future__ import annotations

import numpy as np

from kernel_contracts import api
from kernel_contracts.casebook.base import CONTRACTS
from kernel_contracts.casebook.cases import o25_shared_output as halves
from kernel_contracts.casebook.cases import o26_carry_tiles as scan
from kernel_contracts.checking import Result
from kernel_contracts.contracts.evidence import Verdict

KERNELS = CONTRACTS.parent / "cases"
TRIL = str(CONTRACTS / "tril_matmul.kc")


def check(kernel: str, operation: str | None = None, contract: str | None = None, samples: int = 4) -> Result:
    (found,) = api.check(
        f"{KERNELS / kernel}", operation, contract=contract, classes=["C-CMP-02"], dtypes=["fp32"], seed=1,
        samples=samples,
    )  # fmt: skip
    return found


def accused(found: Result, *defects: str) -> str:
    """The words of the verdict, which names one of the defects."""
    assert found.verdict is Verdict.VIOLATES, found.finding
    assert found.finding.signature is not None
    assert found.finding.signature.name in defects, found.finding
    assert found.finding.witness is not None
    return found.finding.signature.detail


def conforms(found: Result, note: str) -> None:
    assert found.verdict is Verdict.CONFORMS, found.finding
    assert any(note in n for n in found.finding.notes), found.finding.notes


def test_candidates_that_share_one_output() -> None:
    told = accused(check("o25_shared_output.py:faulty", "add"), "unwritten_output")
    assert told.startswith("under schedule HALF: 0, num_warps: 4")
    assert "elements were never written" in told
    conforms(check("o25_shared_output.py:sibling", "add"), "2 schedules (autotuner): BLOCK: 64, num_warps: 4")


def test_the_same_in_a_buffer_that_stays() -> None:
    told = accused(check("o25_shared_output.py:kept", "add"), "stale_output")
    assert "elements are those of the call before" in told


def test_an_output_that_tuning_adds_to_and_nobody_sets_to_zero() -> None:
    told = accused(check("o25_shared_output.py:not_reset", "add"), "tuning_leaves_trace")
    assert told.startswith("the first call at these sizes is off by")
    assert told.endswith("the second call is right")


def test_carries_that_were_counted_for_another_tile() -> None:
    told = accused(check("o26_carry_tiles.py:faulty", "cumsum", samples=8), "schedule_dependent", "tail_dropped")
    assert told.startswith("under schedule tile=128")
    conforms(check("o26_carry_tiles.py:sibling", "cumsum", samples=8), "3 schedules (parameter): tile=256; tile=128")


def test_a_launch_that_computes_one_row_in_32() -> None:
    told = accused(check("o27_launch_shape.py:faulty", contract=TRIL), "unwritten_output")
    assert told.startswith("first call: ")
    conforms(check("o27_launch_shape.py:sibling", contract=TRIL), "the kernel exposes no schedules")


def test_the_flat_launch_as_one_of_two_schedules() -> None:
    told = accused(check("o27_launch_shape.py:one_of_two", contract=TRIL), "unwritten_output")
    assert told.startswith("under schedule (32,): ")


def test_the_numbers_of_the_reports() -> None:
    ones = np.ones((1, 16384), np.float32)
    assert scan.faulty(ones)[0, -1] == 16384
    assert scan.faulty(ones, schedule={"tile": 128})[0, -1] == 128
    assert scan.sibling(ones, schedule={"tile": 128})[0, -1] == 16384
    a = b = np.ones((2, 512), np.float32)
    assert (halves.faulty(a, b) == 2).all(), "the first call runs both candidates on one output"
    halves._half.cache.clear()
    assert (halves.kept(a, b) == 2).all()
    assert (halves.kept(3 * a, b) == 4).sum() == 512, "a later call runs the winner alone"

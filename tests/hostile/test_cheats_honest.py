"""Honest kernels are never accused, however much their habits look like a cheat."""

from __future__ import annotations

from pathlib import Path

import pytest
from honest import HONEST

from kernel_contracts import api
from kernel_contracts.contracts.evidence import Verdict

FILE = Path(__file__).parent / "honest.py"

RIGHT = '''
import numpy as np


def other_order(A, B):
    """From the last term to the first."""
    total = np.zeros((A.shape[0], B.shape[1]), np.float32)
    for k in reversed(range(A.shape[1])):
        total += np.outer(A[:, k], B[k]).astype(np.float32)
    return total


def fused(A, B):
    """Products enter the sum unrounded."""
    total = np.zeros((A.shape[0], B.shape[1]))
    for k in range(A.shape[1]):
        total = (total + np.outer(A[:, k].astype(float), B[k].astype(float))).astype(np.float32).astype(float)
    return total.astype(np.float32)


def more_accurate(A, B):
    return (A.astype(np.float64) @ B.astype(np.float64)).astype(np.float32)
'''


@pytest.mark.parametrize("kernel", HONEST)
def test_habits_of_honest_kernels(kernel: str) -> None:
    found = api.check(
        f"{FILE}:{kernel}", operation="softmax", classes=["C-CMP-03"], dtypes=["fp32"], samples=12, seed=3
    )
    assert [r.verdict for r in found] == [Verdict.CONFORMS], found[0].finding
    assert found[0].finding.notes == ()


@pytest.mark.parametrize("kernel", ["other_order", "fused", "more_accurate"])
def test_right_in_a_way_of_its_own(kernel: str, tmp_path: Path) -> None:
    file = tmp_path / "right.py"
    file.write_text(RIGHT, encoding="utf-8")
    found = api.check(f"{file}:{kernel}", operation="matmul", classes=["C-PRC-01"], dtypes=["fp32"], samples=12, seed=3)
    assert [r.verdict for r in found] == [Verdict.CONFORMS], found[0].finding

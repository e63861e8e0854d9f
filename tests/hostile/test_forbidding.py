"""Functions that a check forbids: found where they are called by name, and left alone everywhere else."""

from __future__ import annotations

from pathlib import Path

import pytest

from kernel_contracts import api
from kernel_contracts.contracts.evidence import Verdict
from kernel_contracts.errors import UsageError

KERNELS = """
import numpy as np
from numpy import exp as taken_by_name


def by_name(x):
    e = taken_by_name(x - x.max(axis=-1, keepdims=True))
    return e / e.sum(axis=-1, keepdims=True)


def swallows_exceptions(x):
    try:
        return by_name(x)
    except Exception:
        return np.zeros_like(x)


def without(x):
    e = np.exp2((x - x.max(axis=-1, keepdims=True)).astype(np.float64) * 1.4426950408889634)
    return (e / e.sum(axis=-1, keepdims=True)).astype(x.dtype)
"""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "kernels.py"
    path.write_text(KERNELS, encoding="utf-8")
    return path


def verdict(target: str, *forbid: str) -> tuple[Verdict, str, str]:
    (found,) = api.check(target, "softmax", classes=["C-CMP-03"], dtypes=["fp32"], samples=4, seed=1, forbid=forbid)
    signature = found.finding.signature
    return found.verdict, signature.name if signature else "", signature.detail if signature else ""


@pytest.mark.parametrize("kernel", ["by_name", "swallows_exceptions"])
def test_a_forbidden_call_is_named(file: Path, kernel: str) -> None:
    assert verdict(f"{file}:{kernel}", "numpy.exp") == (Verdict.VIOLATES, "fallback_used", "called numpy.exp")


def test_a_kernel_that_does_without_conforms(file: Path) -> None:
    assert verdict(f"{file}:without", "numpy.exp", "numpy.matmul")[0] is Verdict.CONFORMS


def test_what_is_not_there_cannot_be_forbidden(file: Path) -> None:
    with pytest.raises(UsageError, match=r"--forbid numpy\.matmull: there is no such function"):
        verdict(f"{file}:without", "numpy.matmull")

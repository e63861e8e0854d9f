"""The controls: what must be accused is accused, by its name where it has one, and what is right is not."""

from __future__ import annotations

import pytest

from kernel_contracts.casebook import control_kernels
from kernel_contracts.casebook.running import trial

pytestmark = pytest.mark.filterwarnings("ignore::RuntimeWarning")


@pytest.mark.parametrize("name", control_kernels())
def test_verdict(name: str) -> None:
    found = trial(name, seed=10)
    assert found
    assert [r for r in found if not r.ok] == []


def test_both_kinds_of_every_file_that_has_them() -> None:
    names = set(control_kernels())
    assert {f"{o} {d}: {k}" for o in ("matmul", "softmax") for d in ("fp32", "fp16", "bf16") for k in (
        "zeros", "half tolerance", "previous input", "inputs in bf16", "last column dropped", "two rows swapped",
        "other order", "fused multiply add", "more accurate")} <= names  # fmt: skip
    assert sum(c.conforms for c in control_kernels().values()) >= 40
    assert sum(not c.conforms for c in control_kernels().values()) >= 40

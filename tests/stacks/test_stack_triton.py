"""Triton: what is known without it, and the interpreter where it is installed."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from kernel_contracts.errors import UsageError
from kernel_contracts.measurement.calls import ArrayIn
from kernel_contracts.measurement.process import Kernel
from kernel_contracts.stacks.base import find, stacks
from kernel_contracts.stacks.natives import natives
from kernel_contracts.stacks.triton import STACK

KERNEL = """
import torch
import triton
import triton.language as tl

@triton.jit
def _double(x, y, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y + at, tl.load(x + at, mask=at < n) * 2, mask=at < n)

def double(x):
    y = torch.empty_like(x)
    _double[(triton.cdiv(x.numel(), 16),)](x, y, x.numel(), BLOCK=16)
    return y
"""


def test_it_is_listed_with_its_variant_and_how_to_install_it() -> None:
    assert stacks()["triton"] is STACK
    assert STACK.variants == {"interpreter": {"TRITON_INTERPRET": "1"}}
    assert STACK.install_hint() == "run: pip install 'kernel-contracts[triton]'"
    assert natives("triton@interpreter") == {}


@pytest.mark.skipif(STACK.available(), reason="Triton is installed")
def test_without_it_a_sentence_says_so() -> None:
    with pytest.raises(UsageError, match="stack 'triton' is not installed: run: pip install"):
        find("triton@interpreter")


@pytest.mark.torch
@pytest.mark.skipif(not STACK.available(), reason=f"Triton is not installed: {STACK.install_hint()}")
def test_the_interpreter_runs_a_kernel(tmp_path: Path) -> None:
    (tmp_path / "kernel.py").write_text(KERNEL)
    with Kernel(f"{tmp_path}/kernel.py:double", stack="triton@interpreter", device="cpu") as kernel:
        result = kernel.call([ArrayIn("x", np.arange(21, dtype=np.float32))])
    assert result.outputs[0].tolist() == [2 * i for i in range(21)]

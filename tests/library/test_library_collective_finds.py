"""What gloo does with sums in a narrow format, beside the contract that it keeps and the one that it does not."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from library_harness import InThreads, find_contract

from kernel_contracts.checking import Options, check_contract
from kernel_contracts.contracts.catalogue import load_text
from kernel_contracts.contracts.evidence import Finding, Verdict
from kernel_contracts.contracts.model import Contract
from kernel_contracts.measurement.calls import ArrayIn
from kernel_contracts.stacks.natives.torch import collectives
from kernel_contracts.vocabulary import vocabulary

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.torch
PAGE = Path(__file__).parents[2] / "docs" / "classes" / "C-ORD-03.md"


def gloo(rank: int, world: int, x: Any, comm: Any) -> Any:
    """all_reduce as torch.distributed offers it, in the format of the data."""
    total = x.clone()
    collectives._group(comm).allreduce([total]).wait()
    return total


def stepwise() -> Contract:
    """The contract of the page of the class that declares every step to be rounded."""
    text = next(t for t in re.findall(r"```kc\n(.*?)```", PAGE.read_text(), re.DOTALL) if "stepwise" in t)
    (contract,) = load_text(text, "stepwise.kc", vocabulary())
    return contract


def judged(contract: Contract, dtype: str, directory: Path, function: Callable[..., Any]) -> Finding:
    bound = next(b for b in contract.bound if b.dtypes["P"] == dtype)
    kernel = InThreads("torch", function, directory)
    return check_contract(contract, bound, kernel, Options(samples=24, shrink=False), seed=2).finding


@pytest.mark.parametrize("dtype", ["bf16", "fp16"])
def test_gloo_adds_narrow_formats_step_by_step(dtype: str, tmp_path: Path) -> None:
    found = judged(find_contract("all_reduce", "C-ORD-03"), dtype, tmp_path, gloo)
    assert found.verdict is Verdict.VIOLATES, found
    assert found.signature is not None
    assert found.signature.name == "accumulator_narrowed"
    kept = judged(stepwise(), dtype, tmp_path, gloo)
    assert kept.verdict is Verdict.CONFORMS, kept


def test_gloo_adds_float32_as_declared(tmp_path: Path) -> None:
    found = judged(find_contract("all_reduce", "C-ORD-03"), "fp32", tmp_path, gloo)
    assert found.verdict is Verdict.CONFORMS, found


def test_the_numbers_worked_out(tmp_path: Path) -> None:
    """256, 3/4, 3/4 and 3/4 make 258.25: 258 in bf16 when rounded once. Step by step each 3/4 is lost beside 256."""
    x = np.repeat([[256.0], [0.75], [0.75], [0.75]], 16, axis=1)
    exact = x.sum(axis=0)
    assert (exact == 258.25).all()
    narrow = x.astype(ml_dtypes.bfloat16)
    assert (exact.astype(ml_dtypes.bfloat16).astype(np.float64) == 258).all()
    got = InThreads("torch", gloo, tmp_path).call([ArrayIn("x", narrow)]).outputs[0].astype(np.float64)
    assert 256.0 in set(got.ravel()), "where the sum begins with 256"
    assert set(got.ravel()) <= {256.0, 258.0}
    rounded = InThreads("torch", collectives.all_reduce, tmp_path).call([ArrayIn("x", narrow)]).outputs[0]
    assert (rounded.astype(np.float64) == 258).all()

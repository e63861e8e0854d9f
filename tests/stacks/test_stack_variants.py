"""A stack under other settings: `numpy@haswell` is a name like any other, and its process starts with its settings."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from kernel_contracts.api import check
from kernel_contracts.errors import UsageError
from kernel_contracts.functions import check_kernel
from kernel_contracts.measurement.calls import ArrayIn
from kernel_contracts.measurement.fingerprint import digest
from kernel_contracts.measurement.process import Kernel
from kernel_contracts.stacks.base import find, stacks
from kernel_contracts.stacks.natives import natives

READS = """
import os

def threads(x):
    print(os.environ["OPENBLAS_NUM_THREADS"])
    return x
"""


@pytest.fixture
def kernel_file(tmp_path: Path) -> str:
    (tmp_path / "kernel.py").write_text(READS)
    return str(tmp_path / "kernel.py") + ":threads"


def printed(kernel: Kernel) -> str:
    with kernel:
        return kernel.call([ArrayIn("x", np.ones(2))]).printed.strip()


def test_the_process_starts_with_the_settings(kernel_file: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENBLAS_NUM_THREADS", "7")
    assert printed(Kernel(kernel_file, stack="numpy")) == "7"
    assert printed(Kernel(kernel_file, stack="numpy@one-thread")) == "1"


def test_what_a_session_varies_wins_over_the_variant(kernel_file: str) -> None:
    kernel = Kernel(kernel_file, stack="numpy@one-thread")
    with kernel.spawn({"OPENBLAS_NUM_THREADS": "3"}) as other:
        assert printed(other) == "3"
    kernel.close()


def test_the_settings_are_recorded(kernel_file: str) -> None:
    reports = []
    for stack in ("numpy@one-thread", "numpy"):
        with Kernel(kernel_file, stack=stack) as kernel:
            reports.append(kernel.load())
    varied, plain = reports
    assert varied.stack == "numpy@one-thread"
    assert varied.fingerprint["stack"]["name"] == "numpy@one-thread"
    assert varied.fingerprint["stack"]["settings"] == {"OPENBLAS_NUM_THREADS": "1"}
    assert plain.fingerprint["stack"]["settings"] == {}
    assert digest(varied.fingerprint) != digest(plain.fingerprint)


def test_another_processor_gives_other_bits() -> None:
    """The core that OpenBLAS is told to use is the one that it uses."""
    cores = set()
    for stack in ("numpy@haswell", "numpy@prescott"):
        with Kernel(natives(stack)["matmul"], stack=stack) as kernel:
            cores.add(kernel.load().fingerprint["numpy"]["blas"]["core"])
    if cores == {""}:
        pytest.skip("this NumPy is not built on OpenBLAS")
    assert len(cores) == 2


def test_a_variant_is_a_stack_everywhere() -> None:
    assert find("numpy@one-thread").name == "numpy@one-thread"
    assert stacks()["numpy"].name == "numpy"
    assert stacks()["numpy"].environment == {}
    assert natives("numpy@one-thread") == natives("numpy")
    results = check(operation="exp", stack="numpy@one-thread", dtypes=["fp32"], samples=1, seed=1)
    assert {r.kernel.stack for r in results if r.kernel} == {"numpy@one-thread"}


def test_an_unknown_variant_lists_those_there_are() -> None:
    with pytest.raises(UsageError, match="numpy has no variant 'quick'; it has one-thread, two-threads"):
        find("numpy@quick")
    with pytest.raises(UsageError, match="there is no stack 'abacus'"):
        find("abacus@quick")


def test_a_variant_cannot_begin_in_a_process_that_runs() -> None:
    with pytest.raises(UsageError, match="OPENBLAS_CORETYPE=Prescott before its process starts"):
        check_kernel(np.exp, "exp", stack="numpy@prescott")


def test_what_a_stack_does_not_hold_is_named() -> None:
    """Without 64-bit numbers JAX takes no index of the library."""
    pytest.importorskip("jax")
    from kernel_contracts.checking import Options, contracts_for, measured

    with pytest.raises(UsageError, match="stack jax holds no int64 by itself"):
        measured(contracts_for("gather", None), find("jax").native_dtypes, Options(), "stack jax")
    assert measured(contracts_for("gather", None), find("jax@x64").native_dtypes, Options(), "stack jax@x64")

"""Several processes as one kernel: what each of them does wrong is what the call did, and none outlives it."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest

from kernel_contracts.casebook.base import CONTRACTS
from kernel_contracts.contracts.evidence import Outcome
from kernel_contracts.errors import ArithmeticScopeError, TargetError
from kernel_contracts.measurement.calls import ArrayIn, CallResult
from kernel_contracts.measurement.ranked import Ranks

KERNELS = CONTRACTS.parent / "controls" / "collectives.py"
LIMIT = 2.0


def opened(name: str, **settings: Any) -> Ranks:
    return Ranks(f"{KERNELS}:{name}", **{"timeout": 20.0, "memory_mb": 512, **settings})


def called(kernel: Ranks, world: int, n: int = 10, dtype: Any = np.float32, **scalars: Any) -> CallResult:
    x = (np.arange(world * n).reshape(world, n) % 7).astype(dtype)
    return kernel.call([ArrayIn("x", x)], scalars, poison=[((world, n), "fp32")])


def pids(kernel: Ranks) -> list[int]:
    return [m._worker.process.pid for m in kernel._members if m._worker is not None]


def alive(pid: int) -> bool:
    return Path(f"/proc/{pid}").exists()


@pytest.fixture(scope="module")
def ring() -> Iterator[Ranks]:
    with opened("ring") as kernel:
        yield kernel


@pytest.mark.parametrize("world", [1, 3, 2])
@pytest.mark.parametrize("dtype", [np.float32, ml_dtypes.bfloat16, np.int32])
def test_every_rank_gets_the_sum(ring: Ranks, world: int, dtype: Any) -> None:
    result = called(ring, world, dtype=dtype, buckets=3, overlap=True)
    assert result.outcome is Outcome.RETURNED, result.detail
    (y,) = result.outputs
    assert y.dtype == dtype
    expected = (np.arange(world * 10).reshape(world, 10) % 7).sum(axis=0)
    assert (y.astype(np.float64) == expected).all()
    assert y.shape == (world, 10)
    assert (result.mutated, result.dropped) == ((), ())
    sent = [m["sent"] for m in result.state["messages"]]
    assert sent == [3 * 2 * (world - 1)] * world, "three pieces, twice around the ring"


def test_processes_are_started_once(ring: Ranks) -> None:
    called(ring, 3)
    first = pids(ring)
    called(ring, 2)
    called(ring, 3)
    assert pids(ring) == first
    assert len(first) >= 3


def test_what_a_kernel_has_no_parameter_for_is_dropped() -> None:
    with opened("halving") as kernel:
        assert called(kernel, 2, buckets=2, overlap=True).dropped == ("buckets", "overlap")


def test_closing_ends_every_process_and_removes_what_they_shared() -> None:
    kernel = opened("ring")
    called(kernel, 2)
    started, directory = pids(kernel), kernel._directory
    assert os.path.isdir(directory)
    kernel.close()
    assert not any(map(alive, started))
    assert not os.path.exists(directory)
    assert called(kernel, 2).outcome is Outcome.RETURNED, "it starts again"
    kernel.close()


@pytest.mark.parametrize(
    ("name", "outcome", "words"),
    [
        ("crossed", Outcome.HUNG, "rank 0 waits for a message from rank 1, rank 1 waits for a message from rank 0"),
        ("one_spins", Outcome.HUNG, "rank 0 waits for a message from rank 1, rank 1 waits for nobody"),
        ("one_dies", Outcome.CRASHED, "killed by SIGABRT on rank 1 of 2"),
        ("one_raises", Outcome.RAISED, "RuntimeError: no such peer"),
        ("mismatched", Outcome.RAISED, "MessageMismatch: rank 1 sent float32[9], the buffer is float32[10]"),
    ],
)
def test_what_one_rank_does_ends_the_call_for_all(name: str, outcome: Outcome, words: str) -> None:
    with opened(name, timeout=LIMIT) as kernel:
        assert called(kernel, 1).outcome is Outcome.RETURNED
        kernel._started(2)
        before = pids(kernel)
        began = time.monotonic()
        result = called(kernel, 2)
        assert result.outcome is outcome
        assert words in result.detail
        assert time.monotonic() - began < LIMIT + 8, "no hang outlives its limit, whatever the machine is busy with"
        if outcome is Outcome.RAISED:
            assert pids(kernel) == before, "nothing had to be started again"
        else:
            assert not any(map(alive, before))
        assert called(kernel, 1).outcome is Outcome.RETURNED, "the next call works"


def test_ranks_must_return_the_same_shape() -> None:
    with opened("another_length") as kernel:
        result = called(kernel, 3)
        assert result.defect == "wrong_shape"
        assert result.detail == "rank 2 returned shape [9], rank 0 [10]"


def test_the_ranks_that_wrote_to_their_input_are_named() -> None:
    with opened("always_in_place") as kernel:
        result = called(kernel, 2)
        assert result.mutated == ("x",)
        assert result.state["mutated"] == {"x": [0, 1]}


def test_arrays_without_an_axis_of_ranks_are_no_input(ring: Ranks) -> None:
    with pytest.raises(ArithmeticScopeError, match="first axis"):
        ring.call([ArrayIn("x", np.zeros((2, 3), np.float32)), ArrayIn("w", np.zeros((3, 3), np.float32))])


def test_a_kernel_that_cannot_be_loaded_is_said_so() -> None:
    with opened("nothing_of_this_name") as kernel, pytest.raises(TargetError, match="nothing_of_this_name"):
        kernel.load()

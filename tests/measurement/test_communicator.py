"""Ranks that talk: order kept, buffers poisoned until the wait, sends read late, and nobody blocked by a full pipe."""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest

from kernel_contracts.measurement.communicator import (
    Communicator,
    Membership,
    MessageMismatch,
    PeerFailed,
    joined,
    waiting,
)
from kernel_contracts.stacks.base import find

Body = Callable[[Communicator], Any]


def together(directory: Path, world: int, body: Body, call: int = 1) -> list[Any]:
    """What `body` gives on each rank, each in a thread of its own; an exception is given too."""
    found: list[Any] = [None] * world

    def one(rank: int) -> None:
        comm = Communicator(Membership(rank, world, call, 5, str(directory)), find("numpy"), "cpu")
        try:
            found[rank] = body(comm)
            comm.finish(failed=False)
        except Exception as error:
            comm.finish(failed=True)
            found[rank] = error

    threads = [threading.Thread(target=one, args=(r,)) for r in range(world)]
    for t in threads:
        t.start()
    for t in threads:
        t.join(20)
        assert not t.is_alive()
    return found


@pytest.mark.parametrize("dtype", [np.float32, ml_dtypes.bfloat16, np.int32])
def test_what_is_sent_arrives_bit_for_bit_and_in_order(tmp_path: Path, dtype: Any) -> None:
    def body(comm: Communicator) -> Any:
        right, left = (comm.rank + 1) % comm.world, (comm.rank - 1) % comm.world
        for k in range(5):
            comm.send((np.arange(7).reshape(7, 1) * 10 + comm.rank + k).astype(dtype), right)
        comm.send(np.zeros(3, dtype), right, tag=4)
        apart = comm.recv(left, tag=4)
        return apart.size, [comm.recv(left) for _ in range(5)]

    for rank, (size, arrays) in enumerate(together(tmp_path, 3, body)):
        assert size == 3
        for k, array in enumerate(arrays):
            expected = (np.arange(7).reshape(7, 1) * 10 + (rank - 1) % 3 + k).astype(dtype)
            assert array.dtype == dtype
            assert array.tobytes() == expected.tobytes()
            assert array.shape == (7, 1)


def test_large_messages_both_ways_at_once_do_not_block(tmp_path: Path) -> None:
    big = np.ones(1 << 20, np.float32)
    found = together(tmp_path, 2, lambda comm: comm.sendrecv(big * comm.rank, 1 - comm.rank, 1 - comm.rank).sum())
    assert found == [float(1 << 20), 0.0]


def test_a_buffer_holds_poison_until_the_wait(tmp_path: Path) -> None:
    def body(comm: Communicator) -> Any:
        other = 1 - comm.rank
        buffer = np.full(4, 7.0, np.float32)
        coming = comm.irecv(other, out=buffer)
        comm.isend(np.full(4, float(comm.rank), np.float32), other).wait()
        comm.barrier()
        early = buffer.copy()
        assert coming.wait() is buffer
        return early, buffer

    for rank, (early, late) in enumerate(together(tmp_path, 2, body)):
        assert np.isnan(early).all()
        assert (late == 1 - rank).all()


def test_an_array_on_its_way_may_be_read_late(tmp_path: Path) -> None:
    def body(comm: Communicator) -> Any:
        other = 1 - comm.rank
        array = np.ones(1, np.float32)
        sending = comm.isend(array, other)
        array[:] = 2
        arrived = float(comm.recv(other)[0])
        sending.wait()
        return arrived

    seen = {value for call in range(12) for value in together(tmp_path, 2, body, call)}
    assert seen == {1.0, 2.0}, "both what was there and what came later are sent, now and then"


def test_a_barrier_holds_until_all_have_come(tmp_path: Path) -> None:
    come: list[int] = []

    def body(comm: Communicator) -> Any:
        come.append(comm.rank)
        comm.barrier()
        return len(come)

    assert together(tmp_path, 5, body) == [5] * 5


def test_messages_of_another_call_are_not_taken(tmp_path: Path) -> None:
    together(tmp_path, 2, lambda comm: comm.send(np.zeros(1), 1 - comm.rank), call=1)

    def body(comm: Communicator) -> Any:
        comm.send(np.ones(1), 1 - comm.rank)
        return float(comm.recv(1 - comm.rank)[0])

    assert together(tmp_path, 2, body, call=2) == [1.0, 1.0]
    assert not [p for p in tmp_path.iterdir() if p.name.startswith("2.")], "nothing of the call is left lying"


def test_what_does_not_fit_the_buffer_is_an_error_and_frees_the_others(tmp_path: Path) -> None:
    def body(comm: Communicator) -> Any:
        if comm.rank == 0:
            comm.send(np.zeros(3, np.float32), 1)
            return comm.recv(2)
        if comm.rank == 1:
            return comm.recv(0, out=np.zeros(4, np.float32))
        return comm.recv(1)

    first, second, third = together(tmp_path, 3, body)
    assert isinstance(second, MessageMismatch)
    assert str(second) == "rank 0 sent float32[3], the buffer is float32[4]"
    assert isinstance(first, PeerFailed)
    assert isinstance(third, PeerFailed)


def test_a_rank_that_waits_says_for_whom(tmp_path: Path) -> None:
    seen: list[str] = []

    def body(comm: Communicator) -> Any:
        if comm.rank == 0:
            return comm.recv(1)
        while not waiting(str(tmp_path), 0):
            pass
        seen.append(waiting(str(tmp_path), 0))
        return comm.send(np.zeros(1), 0)

    together(tmp_path, 2, body)
    assert seen == ["waits for a message from rank 1"]
    assert waiting(str(tmp_path), 0) == ""


def test_there_is_no_rank_beyond_the_world(tmp_path: Path) -> None:
    (found,) = together(tmp_path, 1, lambda comm: comm.send(np.zeros(1), 1))
    assert "there is no rank 1 among 1" in str(found)


def test_a_kernel_is_called_with_rank_and_world_first_and_its_communicator_after_the_arrays(tmp_path: Path) -> None:
    def kernel(rank: int, world: int, x: Any, comm: Communicator, *, root: int = 0) -> Any:
        return rank, world, x, comm.rank, comm.directory, root

    member = Membership(2, 4, 1, 0, str(tmp_path)).as_json()
    function, comm = joined(kernel, member, find("numpy"), "cpu")
    assert function("x", root=3) == (2, 4, "x", 2, str(tmp_path), 3)
    assert comm.call == 1

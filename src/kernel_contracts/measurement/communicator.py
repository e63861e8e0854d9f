"""What a kernel on ranks gets to talk with: send, recv, sendrecv, isend, irecv, barrier between the ranks of one call.

Every freedom that MPI gives an implementation is used against the kernel, at random and otherwise in each call: ranks
start and go on late, an array given to `isend` is read as late as possible, a buffer given to `irecv` holds poison
until `wait`. A kernel that needs luck shows it. Messages are files in a directory of memory: they never block the
sender, keep their order for each pair of ranks and tag, and carry the number of the call, so that none outlives it.
"""

from __future__ import annotations

import contextlib
import json
import os
import time
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kernel_contracts.measurement.adapter import Stack
from kernel_contracts.measurement.exchange import DTYPES, copy_bits, poisoned

_LATE_START, _LATE_STEP = 0.002, 0.0004
"""Seconds: the longest pause of a rank at its start and before a message."""
_POLL = (0.00005, 0.001)
"""Seconds between looks at the directory: the first, the longest."""
_TELL = 0.1
"""After so many seconds a waiting rank leaves word of what it waits for."""
_BARRIER = "b"


class MessageMismatch(ValueError):
    """What arrived does not fit the buffer that was to hold it."""


class PeerFailed(RuntimeError):
    """Another rank has raised, and what this one waits for will not come."""


@dataclass(frozen=True, slots=True)
class Membership:
    """One rank's place in one call, as it travels to the worker."""

    rank: int
    world: int
    call: int
    seed: int
    directory: str

    def as_json(self) -> dict[str, Any]:
        return asdict(self)


@dataclass(slots=True)
class Request:
    """A message on its way. `wait` returns what was received, or None for one that was sent."""

    comm: Communicator
    source: int = -1
    tag: int = 0
    out: Any = None
    result: Any = None
    pending: tuple[Path, Any] | None = None
    """Where an array that was not read yet goes."""
    done: bool = False

    def wait(self) -> Any:
        """Returns when the array may be used again, or is there."""
        if not self.done:
            self.done = True
            if self.source >= 0:
                self.result = self.comm._receive(self.source, self.tag, self.out)
            else:
                self.comm._flush()
        return self.result


@dataclass(slots=True)
class Communicator:
    """The ranks of one call. Not to be kept beyond it."""

    member: Membership
    stack: Stack
    device: str
    _rng: np.random.Generator = field(init=False)
    _next: dict[tuple[int, int, str], int] = field(init=False, default_factory=dict)
    _outgoing: list[Request] = field(init=False, default_factory=list)
    sent: int = field(init=False, default=0)
    received: int = field(init=False, default=0)

    def __post_init__(self) -> None:
        self._rng = np.random.default_rng([self.member.seed, self.member.call, self.member.rank])
        if self.world > 1 and self._rng.random() < 0.5:
            time.sleep(float(self._rng.uniform(0, _LATE_START)))

    @property
    def rank(self) -> int:
        """This rank: 0 to world - 1."""
        return self.member.rank

    @property
    def world(self) -> int:
        """The number of ranks."""
        return self.member.world

    @property
    def call(self) -> int:
        """The number of this call: the same on all its ranks, and no other call's."""
        return self.member.call

    @property
    def directory(self) -> str:
        """A directory that the ranks of this and the following calls share; a place for another library to meet."""
        return self.member.directory

    # ---------------------------------------------------------------------------------------------- point to point

    def send(self, array: Any, to: int, tag: int = 0) -> None:
        """Sends an array; returns when it may be changed again."""
        self._pause()
        self._write(self._path(self.rank, self._peer(to), tag), array)

    def recv(self, source: int, out: Any = None, tag: int = 0) -> Any:
        """Waits for the next array from `source`, into `out` where it is given."""
        self._pause()
        return self._receive(self._peer(source), tag, out)

    def sendrecv(self, array: Any, to: int, source: int, out: Any = None, tag: int = 0) -> Any:
        """Both at once; `array` and `out` may be the same."""
        self.send(array, to, tag)
        return self.recv(source, out, tag)

    def isend(self, array: Any, to: int, tag: int = 0) -> Request:
        """Begins to send; `array` must stay as it is until `wait`."""
        request = Request(self, pending=(self._path(self.rank, self._peer(to), tag), array))
        self._outgoing.append(request)
        if self._rng.random() < 0.5:
            self._flush()
        return request

    def irecv(self, source: int, out: Any = None, tag: int = 0) -> Request:
        """Begins to receive; `out` must not be touched until `wait` and holds nothing of use before it."""
        if out is not None:
            memory = self.stack.from_native(out)
            if memory.flags.writeable:
                copy_bits(memory, poisoned(memory.size, memory.dtype).reshape(memory.shape))
        return Request(self, self._peer(source), tag, out)

    def barrier(self) -> None:
        """Returns when every rank has come so far."""
        step = 1
        nothing = np.zeros(0, np.uint8)
        while step < self.world:
            right, left = (self.rank + step) % self.world, (self.rank - step) % self.world
            self._put(self._path(self.rank, right, 0, _BARRIER), nothing)
            self._get(left, 0, _BARRIER)
            step *= 2

    # --------------------------------------------------------------------------------------------------- the insides

    def _peer(self, rank: int) -> int:
        if not 0 <= rank < self.world:
            raise ValueError(f"there is no rank {rank} among {self.world}; ranks count from 0")
        return int(rank)

    def _pause(self) -> None:
        if self._rng.random() < 0.15:
            time.sleep(float(self._rng.uniform(0, _LATE_STEP)))

    def _path(self, source: int, to: int, tag: int, kind: str = "m") -> Path:
        """The next message from one rank to another; both sides count alike."""
        key = (source * self.world + to, int(tag), kind)
        count = self._next.get(key, 0)
        self._next[key] = count + 1
        return Path(self.member.directory) / f"{self.member.call}.{source}.{to}.{kind}{int(tag)}.{count}"

    def _write(self, path: Path, array: Any) -> None:
        self._put(path, self.stack.from_native(array))
        self.sent += 1

    def _put(self, path: Path, data: NDArray[Any]) -> None:
        """A whole file appears at once."""
        head = json.dumps([data.dtype.name, list(data.shape)]).encode() + b"\n"
        part = path.with_name(f"part.{self.rank}")
        part.write_bytes(head + np.ascontiguousarray(data).tobytes())
        part.rename(path)

    def _flush(self) -> None:
        """Sends what `isend` has left lying."""
        for request in self._outgoing:
            if request.pending is not None:
                path, array = request.pending
                request.pending = None
                self._write(path, array)
        self._outgoing.clear()

    def _get(self, source: int, tag: int, kind: str = "m") -> NDArray[Any]:
        path = self._path(source, self.rank, tag, kind)
        began, pause, told = time.monotonic(), _POLL[0], False
        while True:
            try:
                content = path.read_bytes()
                break
            except FileNotFoundError:
                self._flush()  # progress: nobody may wait for an array that a waiting rank was to send
            time.sleep(pause)
            pause = min(pause * 1.5, _POLL[1])
            if pause == _POLL[1] and self._failure.exists():
                raise PeerFailed(f"rank {self._failure.read_text()} has raised")
            if not told and time.monotonic() > began + _TELL:
                told = True
                what = "the barrier" if kind == _BARRIER else "a message"
                _note(self.member.directory, self.rank).write_text(f"waits for {what} from rank {source}")
        path.unlink()
        if told:
            _note(self.member.directory, self.rank).unlink(missing_ok=True)
        head, _, data = content.partition(b"\n")
        dtype, shape = json.loads(head)
        return np.frombuffer(bytearray(data), DTYPES[dtype]).reshape(shape)

    def _receive(self, source: int, tag: int, out: Any) -> Any:
        data = self._get(source, tag)
        self.received += 1
        if out is None:
            return self.stack.to_native(data, self.device)
        into = self.stack.from_native(out)
        if into.shape != data.shape or into.dtype != data.dtype:
            raise MessageMismatch(
                f"rank {source} sent {data.dtype}{list(data.shape)}, the buffer is {into.dtype}{list(into.shape)}"
            )
        copy_bits(into, data)
        return out

    @property
    def _failure(self) -> Path:
        return Path(self.member.directory) / f"failed.{self.member.call}"

    def finish(self, failed: bool) -> dict[str, int]:
        """Sends what is still lying, and counts: messages sent, received, and left behind by others so far.

        A rank that has failed leaves word of it, so that no other waits for it.
        """
        if failed and not self._failure.exists():
            self._failure.write_text(str(self.rank))
        with contextlib.suppress(Exception):  # an array that cannot be read any more is the kernel's own loss
            self._flush()
        left = 0
        for name in os.listdir(self.member.directory):
            call, _, rest = name.partition(".")
            if call.isdigit() and int(call) <= self.member.call and rest.split(".")[1] == str(self.rank):
                left += ".m" in name and int(call) == self.member.call
                with contextlib.suppress(FileNotFoundError):
                    os.unlink(os.path.join(self.member.directory, name))
        return {"sent": self.sent, "received": self.received, "left": left}


def _note(directory: str, rank: int) -> Path:
    return Path(directory) / f"wait.{rank}"


def waiting(directory: str, rank: int) -> str:
    """What a rank that gave no answer waits for, as it has left word; empty where it waits for nobody."""
    try:
        return _note(directory, rank).read_text()
    except OSError:
        return ""


def joined(function: Any, message: Mapping[str, Any], stack: Stack, device: str) -> tuple[Any, Communicator]:
    """The kernel `function(rank, world, *arrays, comm, ...)` as one of its arrays alone, and its communicator."""
    comm = Communicator(Membership(**message), stack, device)

    def member(*arrays: Any, **scalars: Any) -> Any:
        return function(comm.rank, comm.world, *arrays, comm, **scalars)

    return member, comm

"""One kernel on several ranks: a process each, started once, called together, ended together.

Stands where a kernel under test stands. Arrays come with the ranks as their first axis and go back the same way, so
that a session compares them like any others. A rank that crashes, raises or gives no answer ends the call for all.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import tempfile
import time
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, replace
from types import TracebackType
from typing import Any

import numpy as np

from kernel_contracts.contracts.evidence import Outcome
from kernel_contracts.contracts.model import Contract
from kernel_contracts.errors import ArithmeticScopeError
from kernel_contracts.measurement.calls import ArrayIn, CallResult, LoadReport
from kernel_contracts.measurement.communicator import Membership, PeerFailed, waiting
from kernel_contracts.measurement.enclosure import SHARED
from kernel_contracts.measurement.forbidding import FORBIDDEN
from kernel_contracts.measurement.process import Kernel
from kernel_contracts.measurement.scoping import Announced

_GRACE = 1.0
"""Seconds that the other ranks have once one of them has failed: they may be waiting for it for ever."""


@dataclass(frozen=True, slots=True)
class _Ending:
    """How one rank's call ended, and whether it was we who ended it."""

    rank: int
    result: CallResult
    cut_off: bool


class Ranks:
    """The processes of a kernel on ranks. Takes what `Kernel` takes; not for several threads."""

    def __init__(self, target: str, *, seed: int = 0, **settings: Any) -> None:
        self._target, self._seed, self._settings = target, seed, settings
        self._members: list[Kernel] = []
        self._directory = ""
        self._owner = os.getpid()
        self._count = 0
        self.announced: Announced = None
        """What `Kernel.announced` is, for every rank."""

    def __enter__(self) -> Ranks:
        return self

    def __exit__(self, *_: type[BaseException] | BaseException | TracebackType | None) -> None:
        self.close()

    def __del__(self) -> None:
        with contextlib.suppress(Exception):  # at the interpreter's end half of what it takes is gone
            self.close()

    def close(self) -> None:
        """Ends every rank and removes what they shared."""
        members, self._members = self._members, []
        for kernel in members:
            kernel.close()
        directory, self._directory = self._directory, ""
        if directory and os.getpid() == self._owner:
            shutil.rmtree(directory, ignore_errors=True)

    def spawn(self, environment: Mapping[str, str]) -> Ranks:
        """The same kernel in processes of its own, with more environment variables."""
        merged = {**self._settings.get("environment", {}), **environment}
        return Ranks(self._target, seed=self._seed, **{**self._settings, "environment": merged, "anew": True})

    def load(self) -> LoadReport:
        """Starts the first rank; TargetError in one sentence when the kernel cannot be loaded."""
        return self._started(1)[0].load()

    def _started(self, world: int) -> list[Kernel]:
        """The first `world` members, all loaded; those that run already are kept."""
        if not self._directory:
            memory = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
            self._directory = tempfile.mkdtemp(prefix="kernel-contracts-ranks-", dir=memory)
        environment = {**self._settings.get("environment", {}), SHARED: "1"}
        settings = {**self._settings, "environment": environment}
        new = [Kernel(self._target, **settings) for _ in range(world - len(self._members))]
        self._members += new
        if new:
            with ThreadPoolExecutor(len(new)) as pool:
                list(pool.map(Kernel.load, new))
        return self._members[:world]

    def call(
        self,
        arrays: Sequence[ArrayIn],
        scalars: Mapping[str, Any] = {},
        *,
        poison: Sequence[tuple[tuple[int, ...], str]] = (),
    ) -> CallResult:
        """One call on as many ranks as the arrays' first axis has. `poison` has that axis too."""
        world = next((a.array.shape[0] for a in arrays if a.array.ndim), 0)
        if not world or any(a.array.shape[:1] != (world,) for a in arrays):
            raise ArithmeticScopeError(
                "arrays on ranks have the ranks as their first axis, all of them the same number"
            )
        began = time.perf_counter()
        members = self._started(world)
        self._count += 1
        endings: list[_Ending] = []
        try:
            with ThreadPoolExecutor(world) as pool:
                futures: dict[Future[CallResult], int] = {}
                for rank, kernel in enumerate(members):
                    kernel.announced = self.announced
                    mine = [replace(a, array=a.array[rank]) for a in arrays]
                    place = Membership(rank, world, self._count, self._seed, self._directory)
                    memory = [(shape[1:], fmt) for shape, fmt in poison]
                    futures[pool.submit(kernel.call, mine, scalars, poison=memory, member=place)] = rank
                endings = self._gathered(members, futures)
        finally:
            if not endings:
                self.close()  # interrupted in the middle of a call: the state of the ranks is unknown
        result = _together(endings, self._directory)
        if any(e.result.outcome in _DEAD for e in endings):
            self.close()  # those that are left may wait in the middle of nowhere: all start again
        return replace(result, seconds=time.perf_counter() - began)

    def _gathered(self, members: Sequence[Kernel], futures: Mapping[Future[CallResult], int]) -> list[_Ending]:
        """Every rank's ending in the order of time. Once one has failed, the others have a short while."""
        endings: list[_Ending] = []
        pending: set[Future[CallResult]] = set(futures)
        deadline: float | None = None
        cut_off: set[int] = set()
        while pending:
            left = None if deadline is None else max(deadline - time.monotonic(), 0.0)
            done, pending = wait(pending, timeout=left, return_when=FIRST_COMPLETED)
            for future in sorted(done, key=futures.__getitem__):
                endings.append(_Ending(futures[future], future.result(), futures[future] in cut_off))
                if deadline is None and endings[-1].result.outcome is not Outcome.RETURNED:
                    deadline = time.monotonic() + _GRACE
            if not done and pending:
                cut_off |= {futures[f] for f in pending}
                for rank in sorted(cut_off):
                    members[rank].interrupt()
                deadline = time.monotonic() + _GRACE
        return endings


_DEAD = (Outcome.CRASHED, Outcome.HUNG, Outcome.OUT_OF_MEMORY)


def _together(endings: Sequence[_Ending], directory: str) -> CallResult:
    """One result for all ranks, with what each of them did to its inputs."""
    ranked = sorted(endings, key=lambda e: e.rank)
    results = [e.result for e in ranked]
    mutated = {n: [e.rank for e in ranked if n in e.result.mutated] for r in results for n in r.mutated}
    state = {"mutated": mutated, "messages": [r.state.get("messages", {}) for r in results]}
    one = _one(endings, ranked, directory)
    return replace(one, mutated=tuple(mutated), dropped=results[0].dropped, state=state)


def _one(endings: Sequence[_Ending], ranked: Sequence[_Ending], directory: str) -> CallResult:
    """The first own failure, else the outputs one upon another."""
    failed = [e for e in endings if e.result.outcome is not Outcome.RETURNED and not e.cut_off]
    failed.sort(key=lambda e: e.result.error_type == PeerFailed.__name__)  # the others only say that one of them has
    if failed:
        return replace(failed[0].result, detail=_what_failed(failed, endings, directory), outputs=())
    wrong = next((e for e in ranked if e.result.defect), None)
    if wrong is not None:
        return replace(wrong.result, detail=f"{wrong.result.detail} (rank {wrong.rank})")
    first = ranked[0].result
    for e in ranked[1:]:
        difference = _difference(first, e.result)
        if difference:
            return CallResult(Outcome.RETURNED, f"rank {e.rank} returned {difference[1]}", defect=difference[0])
    outputs = tuple(np.stack(parts) for parts in zip(*(e.result.outputs for e in ranked), strict=True))
    return replace(first, outputs=outputs)


def _what_failed(failed: Sequence[_Ending], endings: Sequence[_Ending], directory: str) -> str:
    first = failed[0]
    if first.result.outcome is not Outcome.HUNG:
        return f"{first.result.detail} on rank {first.rank} of {len(endings)}"
    hung = sorted((e for e in failed if e.result.outcome is Outcome.HUNG), key=lambda e: e.rank)
    said = [f"rank {e.rank} {waiting(directory, e.rank) or 'waits for nobody'}" for e in hung]
    return f"{first.result.detail}: {', '.join(said)}"


def _difference(one: CallResult, other: CallResult) -> tuple[str, str] | None:
    """The kind of difference between what two ranks returned, and words for it; None where they can be stacked."""
    if len(one.outputs) != len(other.outputs):
        return "wrong_count", f"{len(other.outputs)} array(s), rank 0 {len(one.outputs)}"
    for a, b in zip(one.outputs, other.outputs, strict=True):
        if a.dtype != b.dtype:
            return "wrong_dtype", f"{b.dtype}, rank 0 {a.dtype}"
        if a.shape != b.shape:
            return "wrong_shape", f"shape {list(b.shape)}, rank 0 {list(a.shape)}"
    return None


def opened(
    contracts: Iterable[Contract], target: str, *, forbid: Sequence[str] = (), **settings: Any
) -> Kernel | Ranks:
    """The kernel to measure against these contracts: on ranks where they are. It may not call what `forbid` names."""
    if forbid:
        settings["environment"] = {**settings.get("environment", {}), FORBIDDEN: ",".join(forbid)}
    if any(c.ranks for c in contracts):
        return Ranks(target, **settings)
    return Kernel(target, **settings)

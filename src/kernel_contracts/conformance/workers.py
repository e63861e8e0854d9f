"""Several processes that measure cells: one that dies costs the cell it was at, and the others go on.

Requirement: only the parent writes. A process that outlives its parent finds its pipe closed when it is done and ends,
so a run that was killed leaves nobody who could write to it.
"""

from __future__ import annotations

import contextlib
import signal
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from multiprocessing import get_context
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess

from kernel_contracts.conformance.measuring import Bench, Job, Measured, without
from kernel_contracts.contracts.evidence import Finding, Verdict
from kernel_contracts.heap import keep_freed_memory

_TRIES = 2
"""How often a cell is begun before it is given up: a process of ours that dies twice at the same cell dies of it."""
_LEAVE = 3.0
"""Seconds that a process has to end its kernel before it is killed."""


def _serve(pipe: Connection) -> None:
    """The program of a measuring process."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C reaches the whole group; the parent ends us
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))  # ended in the middle of a cell: the kernel's process is, too
    keep_freed_memory()
    bench = Bench()
    try:
        while True:
            job = pipe.recv()
            if job is None:
                return
            pipe.send(_measured(bench, job))
    except (EOFError, OSError):
        return
    finally:
        bench.close()


def _measured(bench: Bench, job: Job) -> Measured:
    """The cell. A fault of ours is one in this cell and stops no other."""
    try:
        return bench.measure(job)
    except Exception as error:
        bench.close()
        return without(job, Finding(Verdict.ERROR, f"a fault of ours: {type(error).__name__}: {error}"))


@dataclass(slots=True)
class _Slot:
    """One measuring process and what it is at."""

    process: BaseProcess
    pipe: Connection
    job: Job | None = None
    last: Job | None = None
    """What it measured last, or is at."""

    def end(self) -> None:
        with contextlib.suppress(OSError):
            self.pipe.close()
        self.process.terminate()
        self.process.join(_LEAVE)
        self.process.kill()
        self.process.join()


@dataclass
class Workers:
    """Deals jobs to processes. Use as a context manager: leaving it ends them all."""

    count: int
    slots: list[_Slot] = field(default_factory=list)

    def __enter__(self) -> Workers:
        return self

    def __exit__(self, *_: object) -> None:
        for slot in self.slots:
            slot.end()
        self.slots.clear()

    def measure(self, jobs: Sequence[Job]) -> Iterator[Measured]:
        """Every job's cell, as they come."""
        waiting = list(jobs)
        tries: dict[str, int] = {}
        while waiting or any(s.job for s in self.slots):
            self._deal(waiting)
            ready = wait([s.pipe for s in self.slots if s.job])
            for slot in [s for s in self.slots if s.pipe in ready]:
                job = slot.job
                assert job is not None
                try:
                    found: Measured = slot.pipe.recv()
                except (EOFError, OSError):
                    self.slots.remove(slot)
                    slot.process.join(5.0)
                    status = slot.process.exitcode
                    slot.end()
                    tries[job.cell.path] = tries.get(job.cell.path, 0) + 1
                    if tries[job.cell.path] < _TRIES:
                        waiting.insert(0, job)
                        continue
                    found = without(job, Finding(Verdict.ERROR, f"the measuring process ended with status {status}"))
                slot.job = None
                yield found

    def _deal(self, waiting: list[Job]) -> None:
        """Gives every idle process a job: the question that it has just answered, for other dtypes, at best."""
        while waiting and len(self.slots) < self.count and all(s.job for s in self.slots):
            self.slots.append(_started())
        for slot in self.slots:
            if slot.job is None and waiting:
                job = self._next(slot.last, waiting)
                waiting.remove(job)
                slot.job = slot.last = job
                slot.pipe.send(job)
        if waiting and len(self.slots) < self.count and all(s.job for s in self.slots):
            self._deal(waiting)

    def _next(self, last: Job | None, waiting: Sequence[Job]) -> Job:
        """The best job for a process that has just measured `last`."""
        busy = {s.job.operation for s in self.slots if s.job}
        own = (j for j in waiting if last and (j.question, j.kernel) == (last.question, last.kernel))
        same = (j for j in waiting if last and j.question == last.question)
        near = (j for j in waiting if last and j.operation == last.operation)
        fresh = (j for j in waiting if j.operation not in busy)
        return next(own, None) or next(same, None) or next(near, None) or next(fresh, None) or waiting[0]


def _started() -> _Slot:
    context = get_context("spawn")
    ours, theirs = context.Pipe()
    process = context.Process(target=_serve, args=(theirs,), daemon=True, name="kernel-contracts-measuring")
    process.start()
    theirs.close()
    return _Slot(process, ours)

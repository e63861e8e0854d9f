"""One live worker process, watched: its messages, what it prints, how much memory it holds, when it dies.

Requirement: every wait has an end. Whatever the worker does, `expect` returns a message or raises `Ended` with an
outcome; only `stop` ends the process, and it ends the whole family.
"""

from __future__ import annotations

import contextlib
import os
import secrets
import select
import signal
import subprocess
import time
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any

from kernel_contracts.contracts.evidence import Outcome
from kernel_contracts.errors import KernelContractsError
from kernel_contracts.measurement import family, launching
from kernel_contracts.measurement.channel import Channel, Tampered
from kernel_contracts.measurement.copies import Copy, copied
from kernel_contracts.measurement.exchange import Region
from kernel_contracts.measurement.worker import LOST_CHANNEL

PRINTED = 2000
_SLICE = 0.02
"""Seconds between looks at the memory of a busy worker."""
_FAMILY_EVERY = 10
"""Slices between looks at the memory of its descendants as well, which costs more."""


class Ended(Exception):
    """The worker gave no answer, and why."""

    def __init__(self, outcome: Outcome, detail: str) -> None:
        self.outcome = outcome
        self.detail = detail
        super().__init__(detail)


class Orphaned(KernelContractsError):
    """The worker ended with the process that it was a copy of: not of the kernel's doing, as far as we can see."""


class Supervised:
    """A worker process with its channel and its two shared files."""

    def __init__(self, stack: str, environment: Mapping[str, str], directory: Path, *, anew: bool = False) -> None:
        self.inbox, self.outbox = Region(), Region()
        to_worker, from_worker, printing = os.pipe(), os.pipe(), os.pipe()
        theirs = (to_worker[0], from_worker[1], self.inbox.fd, self.outbox.fd)
        self.channel = Channel(from_worker[0], to_worker[1], secrets.token_hex(16))
        self._printing = printing[0]
        os.set_blocking(self._printing, False)
        self._owner = os.getpid()
        self._tail, self._open = bytearray(), True
        try:
            self.process = self._begun(stack, environment, theirs, printing[1], directory, anew=anew)
        except BaseException:
            self._release()
            raise
        finally:
            for fd in (to_worker[0], from_worker[1], printing[1]):
                os.close(fd)
        self._exit = os.pidfd_open(self.process.pid) if hasattr(os, "pidfd_open") else -1
        self._poll = select.poll()
        for fd in (self.channel.read_fd, self._printing, self._exit):
            if fd >= 0:
                self._poll.register(fd, select.POLLIN)

    @staticmethod
    def _begun(
        stack: str, environment: Mapping[str, str], fds: tuple[int, ...], printing: int, directory: Path, *, anew: bool
    ) -> launching.Process:  # fmt: skip
        """A copy of a process that has loaded the stack, which is quick; a program started anew where it must be."""
        copy = None if anew else copied(stack, environment, (printing, *fds), directory)
        if copy is not None:
            return copy
        return launching.launched(launching.WORKER, stack, environment, fds, printing, directory)

    @property
    def alive(self) -> bool:
        return self.process.poll() is None

    @property
    def orphaned(self) -> bool:
        """Whether it ended because what it was copied from did."""
        return isinstance(self.process, Copy) and self.process.orphaned

    def send(self, message: dict[str, Any]) -> None:
        try:
            self.channel.send(message)
        except OSError:
            raise self._death() from None

    def expect(self, kinds: Collection[str], seconds: float, memory: int, on_top: float = 0.0) -> dict[str, Any]:
        """The next message, of one of these kinds, within the time and with at most `memory` bytes resident.

        The time counts from when a program that the worker started was last seen to run, for `on_top` seconds at most.
        """
        began = now = time.monotonic()
        deadline, look, looks = now + seconds, now + _SLICE, 0
        while True:
            try:
                message = self.channel.take()
            except Tampered as error:
                raise Ended(Outcome.CRASHED, f"tampered with the control channel: {error}") from None
            if message is not None:
                if message.get("kind") not in kinds:
                    raise Ended(Outcome.CRASHED, "tampered with the control channel: an answer out of turn")
                return message
            now = time.monotonic()
            if now >= deadline:
                raise Ended(Outcome.HUNG, f"no answer within {round(deadline - began, 2):g} s{self._where()}")
            if now >= look:
                looks += 1
                look = now + _SLICE
                whole = looks % _FAMILY_EVERY == 0
                self._check_memory(memory, whole=whole)
                if whole and on_top and family.descendants(self.process.pid):
                    deadline = min(now, began + on_top) + seconds
            self._wait(min(deadline, look) - now)

    def _wait(self, seconds: float) -> None:
        """Moves what has arrived. Raises Ended when the worker is gone."""
        ready = {fd for fd, _ in self._poll.poll(max(seconds, 0.0) * 1000)}
        if self._printing in ready:
            self._drain()
        if self.channel.read_fd in ready:
            try:
                if not self.channel.pump():
                    raise self._death()
            except Tampered as error:
                raise Ended(Outcome.CRASHED, f"tampered with the control channel: {error}") from None
        elif self._exit in ready or (self._exit < 0 and not self.alive):
            raise self._death()

    def _death(self) -> Ended | Orphaned:
        """What to say about a worker that is dead or no longer talks."""
        try:
            status = self.process.wait(0.5)
        except subprocess.TimeoutExpired:
            status = LOST_CHANNEL
        self._drain()
        if self.orphaned:
            return Orphaned("the process that a worker was copied from was ended; measure again")
        if status == LOST_CHANNEL:
            return Ended(Outcome.CRASHED, "closed the control channel")
        if status == -signal.SIGABRT and b"std::bad_alloc" in self._tail:
            return Ended(Outcome.OUT_OF_MEMORY, "aborted because an allocation failed (std::bad_alloc)")
        return Ended(Outcome.CRASHED, family.describe_exit(status))

    def _where(self) -> str:
        """Asks a worker that hangs for its Python stack; the handler is in C, so a busy interpreter answers too."""
        mark = len(self._tail)
        with contextlib.suppress(ProcessLookupError):
            os.kill(self.process.pid, signal.SIGUSR1)
        time.sleep(0.05)
        self._drain()
        lines = bytes(self._tail[mark:]).decode(errors="replace").splitlines()
        frames = [line.strip() for line in lines if line.startswith("  File ")]
        return f"; it was in {frames[0]}" if frames and "kernel_contracts" not in frames[0] else ""

    def _check_memory(self, limit: int, *, whole: bool) -> None:
        # The outputs' file counts too: a kernel could fill it without mapping it.
        now = family.family_resident(self.process.pid) if whole else family.resident(self.process.pid)
        now += self.outbox.size()
        if now > limit:
            raise Ended(Outcome.OUT_OF_MEMORY, f"held {now >> 20} MiB of memory; the limit is {limit >> 20} MiB")

    def _drain(self) -> None:
        """Keeps the tail of what was printed, so that a talkative kernel neither blocks nor fills a disk."""
        with contextlib.suppress(BlockingIOError):
            for _ in range(64 if self._open else 0):
                chunk = os.read(self._printing, 1 << 16)
                if not chunk:  # every holder has closed it: reading on would find the end again and again
                    self._poll.unregister(self._printing)
                    self._open = False
                    return
                self._tail += chunk
                del self._tail[: -4 * PRINTED]

    def printed(self) -> str:
        """The tail of what was printed since the last time."""
        self._drain()
        text = bytes(self._tail).decode(errors="replace")[-PRINTED:]
        self._tail.clear()
        return text

    def stop(self) -> None:
        """Ends the worker and everything it started."""
        if os.getpid() == self._owner:  # a forked copy of the session lets go of the descriptors and no more
            family.end(self.process.pid)
            self.process.wait()
        self._release()

    def _release(self) -> None:
        self.channel.close()
        for fd in (self._printing, getattr(self, "_exit", -1)):
            if fd >= 0:
                os.close(fd)
        self._printing = self._exit = -1
        self.inbox.close()
        self.outbox.close()

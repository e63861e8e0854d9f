"""Workers as copies of a process that has loaded their stack (see `original`), and those processes, one for each stack.

Requirement: whatever goes wrong here, a worker can still be started anew; `copied` then gives None. A copy's parent is
the original, which keeps it until we have asked how it ended, so that its process id stays its own.
"""

from __future__ import annotations

import atexit
import contextlib
import json
import os
import select
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from kernel_contracts.measurement import launching

_ANSWER_SECONDS = 60.0
"""For making a copy, which takes milliseconds where nothing is wrong."""
_MOST = 12
"""Originals that are kept at once; one of them holds a framework, up to a few hundred megabytes."""
_Key = tuple[int, str, str, str, tuple[tuple[str, str], ...]]


class Copy:
    """A worker that is a copy; what `subprocess.Popen` is for one that is not."""

    def __init__(self, original: _Original, pid: int) -> None:
        self.pid = pid
        self.orphaned = False
        """It ended because the original did, and we cannot know more; no fault of the kernel."""
        self._original = original
        self._exit = os.pidfd_open(pid)
        self._status: int | None = None
        self._waiting = threading.Lock()

    def poll(self) -> int | None:
        """How it ended, as `subprocess` says it; None while it runs."""
        with contextlib.suppress(subprocess.TimeoutExpired):
            return self.wait(0.0)
        return None

    def wait(self, timeout: float | None = None) -> int:
        """How it ended, once it has. Raises subprocess.TimeoutExpired where it runs on, after so many seconds."""
        with self._waiting:  # a rank is waited for in one thread and looked at in another
            if self._status is None:
                poll = select.poll()
                poll.register(self._exit, select.POLLIN)
                if not poll.poll(None if timeout is None else timeout * 1000):
                    raise subprocess.TimeoutExpired(str(self.pid), timeout or 0.0)
                os.close(self._exit)
                status = self._original.reaped(self.pid)
                self.orphaned = status is None
                self._status = -signal.SIGKILL if status is None else status
            return self._status


class _Original:
    """One process that has loaded a stack, with its end of the line to it."""

    def __init__(self, stack: str, given: Mapping[str, str], directory: Path) -> None:
        self._lock = threading.Lock()
        self._door, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.copies = 0
        """Those that are not reaped yet."""
        with theirs:
            self._process = launching.launched(
                launching.ORIGINAL, stack, given, (theirs.fileno(),), subprocess.DEVNULL, directory
            )

    def loaded(self) -> bool:
        """Waits until the stack is loaded; False where that failed."""
        self._door.settimeout(launching.START_SECONDS)
        try:
            ready = bool(self._door.recv(1 << 12))
        except OSError:
            ready = False
        self._door.settimeout(_ANSWER_SECONDS)
        return ready

    def copy(self, fds: Sequence[int], directory: Path) -> Copy | None:
        """A copy that has these descriptors; None where this stack cannot be copied. Raises OSError: it is gone."""
        with self._lock:
            pid = self._asked({"directory": str(directory)}, fds)["pid"]
            if not pid:
                return None
            self.copies += 1
        return Copy(self, pid)

    def reaped(self, pid: int) -> int | None:
        """How the copy ended; None where this process has, which takes its copies with it. Requirement: it has."""
        with self._lock:
            self.copies -= 1
            try:
                return int(self._asked({"reap": pid})["status"])
            except (OSError, ValueError, KeyError):
                return None

    def _asked(self, question: Mapping[str, Any], fds: Sequence[int] = ()) -> dict[str, Any]:
        text = json.dumps(question).encode()
        if fds:
            socket.send_fds(self._door, [text], fds)
        else:
            self._door.send(text)
        answer = self._door.recv(1 << 12)
        if not answer:
            raise ConnectionResetError("the process that copies are made from has ended")
        found: dict[str, Any] = json.loads(answer)
        return found

    def close(self) -> None:
        """Ends it, and with it the copies that are left."""
        self._door.close()
        self._process.kill()
        self._process.wait()


_originals: dict[_Key, _Original | None] = {}
"""By process, stack and environment, the one used last at the end; None for a stack that cannot be copied."""
_choosing = threading.Lock()


def copied(stack: str, given: Mapping[str, str], fds: Sequence[int], directory: Path) -> Copy | None:
    """A worker in this directory with these descriptors (see `original.HANDED`); None where it must be started anew."""
    if not sys.platform.startswith("linux") or not hasattr(os, "pidfd_open") or not directory.is_dir():
        return None
    key = _key(stack, given, directory)
    for _ in range(2):  # an original that nobody asked for long has ended
        with _choosing:
            original = _chosen(key, stack, given, directory)
        if original is None:
            return None
        try:
            copy = original.copy(fds, directory)
        except (OSError, ValueError):
            _forget(key, original)
            continue
        if copy is None:
            _forget(key, original, unfit=True)
        return copy
    return None


def _key(stack: str, given: Mapping[str, str], directory: Path) -> _Key:
    merged = launching.environment(given)
    relative = not all(map(os.path.isabs, merged["PYTHONPATH"].split(os.pathsep)))
    return os.getpid(), stack, ",".join(given), str(directory) if relative else "", tuple(sorted(merged.items()))


def _chosen(key: _Key, stack: str, given: Mapping[str, str], directory: Path) -> _Original | None:
    if key in _originals:
        _originals[key] = original = _originals.pop(key)
        return original
    if not _room():
        return None
    original = _Original(stack, given, directory)
    if not original.loaded():
        original.close()
        original = None
    _originals[key] = original
    return original


def _room() -> bool:
    """Whether there can be one more, once the one that is idle longest has gone."""
    mine = {k: o for k, o in _originals.items() if o is not None and k[0] == os.getpid()}
    if len(mine) < _MOST:
        return True
    idle = next((k for k, o in mine.items() if not o.copies), None)
    if idle is None:
        return False
    del _originals[idle]
    mine[idle].close()
    return True


def _forget(key: _Key, original: _Original, *, unfit: bool = False) -> None:
    with _choosing:
        if _originals.get(key) is original:
            del _originals[key]
            if unfit:
                _originals[key] = None
            if not (unfit and original.copies):
                original.close()


@atexit.register
def _close_all() -> None:
    for key, original in list(_originals.items()):
        if original is not None and key[0] == os.getpid():
            original.close()

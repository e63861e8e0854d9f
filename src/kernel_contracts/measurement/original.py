"""What workers are copied from: a process that has loaded a stack and never runs a kernel.

Loading a framework takes longer than most measurements, a copy of a process milliseconds. Requirement: a copy is as
good as a process started anew. It has one thread, as this one has: a library whose threads would be missing in the
copy is not copied. It draws random numbers of its own. Only what a process is given at its birth is the same in all
copies: addresses, and the order of Python's sets. Where that must differ, a process is started anew.
"""

from __future__ import annotations

import contextlib
import gc
import json
import os
import select
import signal
import socket
import sys
from collections.abc import Callable, Sequence
from typing import NoReturn

IDLE = 300.0
"""Seconds without a copy and without a question, after which an original ends."""
HANDED = 5
"""Descriptors that come with the wish for a copy: what the kernel prints to, and the four of a worker."""
_LONGEST = 1 << 16


def offer(door: socket.socket, begin: Callable[[Sequence[int], int], NoReturn]) -> NoReturn:
    """Makes copies for as long as the session asks; `begin` is what a copy does, with a worker's descriptors and us.

    Requirement: everything that copies need is loaded.
    """
    gc.collect()
    gc.freeze()  # a collection in a copy would write to every object, and so copy its memory
    me, copies = os.getpid(), set[int]()
    with contextlib.suppress(OSError):
        _say(door, ready=True)
        while copies or select.select([door], [], [], IDLE)[0]:
            text, fds, *_ = socket.recv_fds(door, _LONGEST, HANDED)
            if not text:
                break
            asked = json.loads(text)
            if "reap" in asked:
                _, status = os.waitpid(asked["reap"], 0)
                copies.discard(asked["reap"])
                _say(door, status=os.waitstatus_to_exitcode(status))
                continue
            copy = _forked()
            if copy == 0:
                door.close()
                _settle(fds[0], asked["directory"])
                begin(fds[1:], me)
            for fd in fds:
                os.close(fd)
            if copy < 0:  # the system is full; one that is started anew may say so better
                _say(door, pid=0)
                continue
            if _threads() > 1:  # those that a library ends before a copy is made are gone by now
                os.kill(copy, signal.SIGKILL)
                os.waitpid(copy, 0)
                _say(door, pid=0)
                break
            copies.add(copy)
            _say(door, pid=copy)
    os._exit(0)


def _forked() -> int:
    """As `os.fork`; -1 where the system refuses."""
    try:
        return os.fork()
    except OSError:
        return -1


def _say(door: socket.socket, **facts: object) -> None:
    door.send(json.dumps(facts).encode())


def _threads() -> int:
    return len(os.listdir("/proc/self/task"))


def _settle(printing: int, directory: str) -> None:
    """What a process that is started anew finds as it is."""
    os.setsid()
    os.dup2(printing, 1)
    os.dup2(printing, 2)
    os.close(printing)
    os.chdir(directory)
    random = sys.modules.get("numpy.random")
    if random is not None:
        random.seed()

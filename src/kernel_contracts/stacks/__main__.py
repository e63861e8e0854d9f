"""The program of a worker process: looks up its stack, takes on its environment, greets its session and serves.

Requirement: started by `measurement.launching` only. Arguments: its role, the stack, the environment variables that the
session set on purpose, the session's process id, and descriptors: four of a worker, or the line of an original.
"""

from __future__ import annotations

import os
import socket
import sys
from collections.abc import Mapping, Sequence
from typing import NoReturn

from kernel_contracts.errors import UsageError
from kernel_contracts.measurement.channel import Channel
from kernel_contracts.measurement.launching import ORIGINAL
from kernel_contracts.measurement.original import offer
from kernel_contracts.measurement.worker import LOST_CHANNEL, enclose, serve, tie
from kernel_contracts.stacks.base import Stack, find


def main() -> None:
    try:
        role, name, given = sys.argv[1:4]
        session, *fds = map(int, sys.argv[4:])
    except ValueError:
        sys.exit("This is the program of a worker process; a session starts it. Use the command kc.")
    stack: Stack | None = None
    refusal = ""
    try:
        stack = find(name)
        _take_on({k: v for k, v in stack.environment.items() if k not in given.split(",")})
    except UsageError as error:
        refusal = str(error)
    if role != ORIGINAL:
        _work(stack, refusal, fds, session)
    if stack is not None:
        _be_copied(stack, fds[0], session)


def _work(stack: Stack | None, refusal: str, fds: Sequence[int], parent: int) -> NoReturn:
    for fd in fds:
        os.set_inheritable(fd, False)  # programs that the kernel starts have no business here
    isolation = enclose(parent)
    commands, answers, inbox, outbox = fds
    channel = Channel(commands, answers)
    hello = channel.receive()
    if hello is None:
        os._exit(LOST_CHANNEL)
    if stack is None:
        channel.send({"kind": "refused", "text": refusal})
        os._exit(0)
    serve(stack, channel, inbox, outbox, hello, isolation)


def _be_copied(stack: Stack, door: int, session: int) -> NoReturn:
    """Where the library does not load this ends, and a worker started anew says why."""
    os.set_inheritable(door, False)
    tie(session)
    stack.preload()
    offer(socket.socket(fileno=door), lambda fds, me: _work(stack, "", fds, me))


def _take_on(environment: Mapping[str, str]) -> None:
    """Starts this program again where its environment differs: libraries read these variables once, when they load."""
    if any(os.environ.get(name) != value for name, value in environment.items()):
        os.execve(sys.executable, [sys.executable, *sys.orig_argv[1:]], {**os.environ, **environment})


if __name__ == "__main__":
    main()

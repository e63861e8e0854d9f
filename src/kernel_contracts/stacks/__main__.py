"""The program of a worker process: looks up its stack, takes on its environment, greets its session and serves.

Requirement: started by `measurement.supervise` only. Arguments: the stack, the environment variables that the session
set on purpose, the session's process id and four descriptors.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping

from kernel_contracts.errors import UsageError
from kernel_contracts.measurement.channel import Channel
from kernel_contracts.measurement.worker import LOST_CHANNEL, enclose, serve
from kernel_contracts.stacks.base import find


def main() -> None:
    try:
        name, given = sys.argv[1:3]
        session, commands, answers, inbox, outbox = map(int, sys.argv[3:])
    except ValueError:
        sys.exit("This is the program of a worker process; a session starts it. Use the command kc.")
    try:
        stack, refusal = find(name), ""
        _take_on({k: v for k, v in stack.environment.items() if k not in given.split(",")})
    except UsageError as error:
        refusal = str(error)
    for fd in (commands, answers, inbox, outbox):
        os.set_inheritable(fd, False)  # programs that the kernel starts have no business here
    isolation = enclose(session)
    channel = Channel(commands, answers)
    hello = channel.receive()
    if hello is None:
        os._exit(LOST_CHANNEL)
    if refusal:
        channel.send({"kind": "refused", "text": refusal})
        os._exit(0)
    serve(stack, channel, inbox, outbox, hello, isolation)


def _take_on(environment: Mapping[str, str]) -> None:
    """Starts this program again where its environment differs: libraries read these variables once, when they load."""
    if any(os.environ.get(name) != value for name, value in environment.items()):
        os.execve(sys.executable, [sys.executable, *sys.orig_argv[1:]], {**os.environ, **environment})


if __name__ == "__main__":
    main()

"""The program of a worker process: greets its session, looks up the stack and serves.

Requirement: started by `measurement.supervise` only, with the session's process id and four descriptors as arguments.
"""

from __future__ import annotations

import os
import sys

from kernel_contracts.errors import UsageError
from kernel_contracts.measurement.channel import Channel
from kernel_contracts.measurement.worker import LOST_CHANNEL, enclose, serve
from kernel_contracts.stacks.base import find


def main() -> None:
    try:
        session, commands, answers, inbox, outbox = map(int, sys.argv[1:])
    except ValueError:
        sys.exit("This is the program of a worker process; a session starts it. Use the command kc.")
    for fd in (commands, answers, inbox, outbox):
        os.set_inheritable(fd, False)  # programs that the kernel starts have no business here
    enclose(session)
    channel = Channel(commands, answers)
    hello = channel.receive()
    if hello is None:
        os._exit(LOST_CHANNEL)
    try:
        stack = find(hello["stack"])
    except UsageError as error:
        channel.send({"kind": "refused", "text": str(error)})
        os._exit(0)
    serve(stack, channel, inbox, outbox, hello)


if __name__ == "__main__":
    main()

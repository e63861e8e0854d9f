"""A process and everything it started: who they are, how much memory they hold, and how to end them.

Requirement: acts only on descendants of a process that this session started. Where there is no /proc the family is
the process alone.
"""

from __future__ import annotations

import contextlib
import os
import signal

_PAGE = os.sysconf("SC_PAGE_SIZE")


def descendants(root: int) -> tuple[int, ...]:
    """Process ids below `root`, the nearest first."""
    children: dict[int, list[int]] = {}
    try:
        entries = [int(name) for name in os.listdir("/proc") if name.isdigit()]
    except OSError:
        return ()
    for pid in entries:
        with contextlib.suppress(OSError, ValueError, IndexError):
            with open(f"/proc/{pid}/stat", "rb") as stream:
                # The command name may hold spaces and parentheses; the fields after the last one do not.
                parent = int(stream.read().rpartition(b")")[2].split()[1])
            children.setdefault(parent, []).append(pid)
    found: list[int] = []
    queue = [root]
    while queue:
        below = children.get(queue.pop(0), [])
        found += below
        queue += below
    return tuple(found)


def resident(pid: int) -> int:
    """Bytes of memory that the process holds; 0 when it is gone or the system does not say."""
    try:
        with open(f"/proc/{pid}/statm", "rb") as stream:
            return int(stream.read().split()[1]) * _PAGE
    except (OSError, ValueError, IndexError):
        return 0


def family_resident(root: int) -> int:
    """The same for the process and all its descendants."""
    return resident(root) + sum(resident(pid) for pid in descendants(root))


def end(root: int) -> None:
    """Kills the process group of `root` (it leads one) and every descendant, also those that left the group.

    `root` must not have been waited for yet unless it is known to be dead: its id is then still its own.
    """
    _signal_group(root, signal.SIGSTOP)  # nobody forks while we look
    family = descendants(root)
    _signal_group(root, signal.SIGKILL)
    for pid in family:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.kill(pid, signal.SIGKILL)


def _signal_group(leader: int, number: signal.Signals) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(leader, number)


def describe_exit(status: int) -> str:
    """`killed by SIGSEGV` or `exited with status 3`, from a return code of subprocess."""
    if status >= 0:
        return f"exited with status {status}"
    try:
        return f"killed by {signal.Signals(-status).name}"
    except ValueError:
        return f"killed by signal {-status}"

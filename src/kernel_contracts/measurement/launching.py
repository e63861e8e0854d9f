"""The program of a worker started anew: its command, its environment, and the thread that starts it."""

from __future__ import annotations

import functools
import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Protocol

from kernel_contracts.measurement.enclosure import without_secrets

ENTRY = "kernel_contracts.stacks"
"""The module that a worker process runs: it alone knows the stacks by name."""
START_SECONDS = 60.0
"""For starting Python, importing the stack and importing the kernel; a large framework takes several."""
WORKER, ORIGINAL = "worker", "original"
"""What that program is started as: one worker, or what workers are copied from."""


class Process(Protocol):
    """What `subprocess.Popen` has and is needed here."""

    @property
    def pid(self) -> int: ...

    def poll(self) -> int | None: ...

    def wait(self, timeout: float | None = None) -> int: ...


def launched(
    role: str, stack: str, given: Mapping[str, str], fds: Sequence[int], printing: int, directory: Path
) -> subprocess.Popen[bytes]:
    """The program in one of its roles, leading a process group. `given` are environment variables set on purpose.

    Raises OSError where the directory is not there.
    """
    command = [sys.executable, "-P", "-B", "-u", "-X", "faulthandler", "-m", ENTRY, role, stack, ",".join(given)]
    command += [str(os.getpid()), *map(str, fds)]

    def start() -> subprocess.Popen[bytes]:
        return subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=printing, stderr=printing, pass_fds=fds, cwd=directory,
            env=environment(given), start_new_session=True,
        )  # fmt: skip

    return _starter(os.getpid()).submit(start).result()


def environment(given: Mapping[str, str]) -> dict[str, str]:
    """All variables of the program: ours less what is secret, what was given, and where this package lies."""
    merged = {**without_secrets(os.environ), **given}
    ours = str(Path(__file__).resolve().parents[2])
    path = merged.get("PYTHONPATH", "")
    if ours not in path.split(os.pathsep):
        merged["PYTHONPATH"] = f"{path}{os.pathsep}{ours}" if path else ours
    return merged


@functools.cache
def _starter(_process: int) -> ThreadPoolExecutor:
    """A thread that lives as long as this process.

    A worker asks to be killed when its parent dies, and the system takes the *thread* that started it for its parent:
    started from a short-lived thread of the caller, it would die too early.
    """
    return ThreadPoolExecutor(1, thread_name_prefix="kernel-contracts-start")

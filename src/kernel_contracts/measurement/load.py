"""Keeps every processor busy while something else is measured, so that its threads arrive in other orders.

Requirement: whatever happens, nothing of it outlives the block, nor the process that opened it.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager

_SPIN = "import os, sys\nwhile os.getppid() == int(sys.argv[1]):\n    sum(range(10000))\n"
_START_SECONDS = 0.05


@contextmanager
def background_load(processes: int | None = None) -> Iterator[None]:
    """Busy processes, by default one for each processor, for as long as the block lasts."""
    count = processes or os.cpu_count() or 1
    started: list[subprocess.Popen[bytes]] = []
    try:
        for _ in range(count):
            command = [sys.executable, "-I", "-S", "-c", _SPIN, str(os.getpid())]
            started.append(subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL))
        time.sleep(_START_SECONDS)
        yield
    finally:
        for process in started:
            process.kill()
        for process in started:
            process.wait()

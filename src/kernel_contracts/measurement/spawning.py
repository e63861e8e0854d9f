"""The kernel under test once more, in other processes: for whatever must not depend on the process it runs in."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from kernel_contracts.measurement.emulated import Callee

Key = tuple[tuple[str, str], ...]


class Started:
    """Processes of one kernel that stay until `close`, by what they were started with.

    Sessions that measure the kernel under one contract, for each choice of dtypes, can share them: what has to differ
    is the process, and starting one costs more than most measurements.
    """

    def __init__(self) -> None:
        self._kernels: dict[Key, Callee | None] = {}

    def get(self, kernel: Callee, environment: Mapping[str, str], copy: int) -> Callee | None:
        """The kernel in the process of this environment and `copy`, about to hear what the kernel itself is told."""
        key = (*sorted(environment.items()), ("", str(copy)))
        if key not in self._kernels:
            self._kernels[key] = _spawned(kernel, environment)
        found = self._kernels[key]
        if found is not None and hasattr(kernel, "announced"):
            found.announced = kernel.announced  # type: ignore[attr-defined]
        return found

    def close(self) -> None:
        """Ends them all."""
        for kernel in self._kernels.values():
            _end(kernel)
        self._kernels.clear()


class Spawner:
    """The other processes of one session. Those of `started` outlive it; without one it has its own."""

    def __init__(self, kernel: Callee, started: Started | None = None) -> None:
        self._kernel = kernel
        self._started = started or Started()
        self._lent = started is not None
        self.used = 0
        """Processes that were started for one use each."""

    def spawn(self, environment: Mapping[str, str], copy: int = 0) -> Callee | None:
        """The kernel in a process with these environment variables; None where it has no process.

        The same environment and `copy` give the same process.
        """
        return self._started.get(self._kernel, environment, copy)

    @contextmanager
    def once(self, environment: Mapping[str, str]) -> Iterator[Callee | None]:
        """The kernel in a process that has run nothing yet and ends with the block; None where it has no process."""
        other = _spawned(self._kernel, environment)
        self.used += other is not None
        try:
            yield other
        finally:
            _end(other)

    def close(self) -> None:
        """Ends every process of its own."""
        if not self._lent:
            self._started.close()


def _spawned(kernel: Callee, environment: Mapping[str, str]) -> Callee | None:
    make = getattr(kernel, "spawn", None)
    found: Callee | None = None if make is None else make(dict(environment))
    return found


def _end(kernel: Callee | None) -> None:
    end = getattr(kernel, "close", None)
    if end is not None:
        end()

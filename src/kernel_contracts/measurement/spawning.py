"""The kernel under test once more, in other processes: for whatever must not depend on the process it runs in."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from kernel_contracts.measurement.emulated import Callee


class Spawner:
    """Keeps what it started until it is closed; the kernel itself is the caller's."""

    def __init__(self, kernel: Callee) -> None:
        self._kernel = kernel
        self._started: dict[tuple[tuple[str, str], ...], Callee | None] = {}
        self.used = 0
        """Processes that were started for one use each."""

    def spawn(self, environment: Mapping[str, str], copy: int = 0) -> Callee | None:
        """The kernel in a process with these environment variables; None where it has no process.

        The same environment and `copy` give the same process until `close`.
        """
        key = (*sorted(environment.items()), ("", str(copy)))
        if key not in self._started:
            make = getattr(self._kernel, "spawn", None)
            self._started[key] = None if make is None else make(dict(environment))
        return self._started[key]

    @contextmanager
    def once(self, environment: Mapping[str, str]) -> Iterator[Callee | None]:
        """The kernel in a process that has run nothing yet and ends with the block; None where it has no process."""
        make = getattr(self._kernel, "spawn", None)
        other = None if make is None else make(dict(environment))
        self.used += other is not None
        try:
            yield other
        finally:
            end = getattr(other, "close", None)
            if end is not None:
                end()

    def close(self) -> None:
        """Ends every process that was started."""
        for other in self._started.values():
            end = getattr(other, "close", None)
            if end is not None:
                end()
        self._started.clear()

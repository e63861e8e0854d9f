"""The kernel under test once more, in other processes: for whatever must not depend on the process it runs in."""

from __future__ import annotations

from collections.abc import Mapping

from kernel_contracts.measurement.emulated import Callee


class Spawner:
    """Keeps what it started until it is closed; the kernel itself is the caller's."""

    def __init__(self, kernel: Callee) -> None:
        self._kernel = kernel
        self._started: dict[tuple[tuple[str, str], ...], Callee | None] = {}

    def spawn(self, environment: Mapping[str, str], copy: int = 0) -> Callee | None:
        """The kernel in a process with these environment variables; None where it has no process.

        The same environment and `copy` give the same process until `close`.
        """
        key = (*sorted(environment.items()), ("", str(copy)))
        if key not in self._started:
            make = getattr(self._kernel, "spawn", None)
            self._started[key] = None if make is None else make(dict(environment))
        return self._started[key]

    def close(self) -> None:
        """Ends every process that was started."""
        for other in self._started.values():
            end = getattr(other, "close", None)
            if end is not None:
                end()
        self._started.clear()

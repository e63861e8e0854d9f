"""How long a call may take: its time limit, and what a compiler may take on top the first time.

A stack that compiles does so inside the first call for each shape and dtype, and again in each new process; that is
not time of the kernel. Requirement: every wait has an end, and a call that used up the longer time once gets the
plain limit from then on, so that a kernel that really hangs costs the longer time once for each kind of call.

Where the compiler is a program of its own, one can see whether it runs: the plain limit then counts from the moment
when it was seen last.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from typing import Any

from kernel_contracts.measurement.calls import ArrayIn


class Patience:
    """Of one kernel, over all of its processes. Times in seconds."""

    def __init__(self, limit: float) -> None:
        self.limit = limit
        self.compiling = 0.0
        """What the stack's compiler may take; 0 where nothing is compiled."""
        self.apart = False
        """Whether it is a program that the worker starts."""
        self._met: set[Hashable] = set()
        self._hung: set[Hashable] = set()

    def started(self, compiling: float, *, apart: bool = False) -> None:
        """A new process: nothing is compiled there yet."""
        self.compiling, self.apart = compiling, apart
        self._met.clear()

    def seconds(self, call: Hashable, *, anew: bool = False) -> tuple[float, float]:
        """The time that this call may take, and what comes on top while a program that the worker started runs.

        `anew`: what was compiled has been let go of and is compiled again.
        """
        if anew:
            self._met.clear()
        known = call in self._met or call in self._hung
        self._met.add(call)
        on_top = 0.0 if known else self.compiling
        return (self.limit, on_top) if self.apart else (self.limit + on_top, 0.0)

    def hung(self, call: Hashable) -> None:
        """This call gave no answer within its time."""
        self._hung.add(call)


def kind(arrays: Sequence[ArrayIn], scalars: Mapping[str, Any], way: Mapping[str, Any] | None) -> Hashable:
    """Calls of one kind run the same compiled code: equal shapes, dtypes, layouts, parameters and way of calling."""
    return (
        tuple((a.array.shape, a.array.dtype.name, a.layout) for a in arrays),
        tuple((name, repr(value)) for name, value in sorted(scalars.items())),
        repr(way),
    )

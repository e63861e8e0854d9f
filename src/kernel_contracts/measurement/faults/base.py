"""What a fault at the call is: a kernel wrapped so that what goes in or what comes out is changed.

Requirement: the wrapped kernel stands where a kernel under test stands, and on ordinary inputs it does what the
unwrapped one does; else it is no silent fault.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from kernel_contracts.contracts.model import Bound, Contract
from kernel_contracts.measurement.calls import ArrayIn, CallResult
from kernel_contracts.measurement.emulated import Callee

Places = Sequence[tuple[tuple[int, ...], str]]
"""Shape and format of each output that is due: where poison lies."""

Wrap = Callable[[Contract, Bound, Callee, tuple[object, ...]], Callee]
"""The contract, its dtypes, the kernel to wrap, and the arguments that a contract gives to the fault."""


def always(contract: Contract, bound: Bound) -> bool:
    return True


@dataclass(frozen=True, slots=True)
class Fault:
    """A named way to go wrong, written `fault(NAME)` or `fault(NAME(ARGUMENT))` in a contract."""

    name: str
    doc: str
    wrap: Wrap
    defaults: tuple[tuple[object, ...], ...] = ((),)
    """Arguments that a mutation score tries."""
    axis: str = ""
    """The repetition across which it shows; none of a contract's business where that promises nothing across it."""
    applies: Callable[[Contract, Bound], bool] = always
    """Whether there is anything in the contract that can go wrong in this way."""


class Faulty:
    """A wrapped kernel; tells calibration that it is one of ours."""

    def __init__(self, inner: Callee) -> None:
        self.inner = inner

    def call(
        self, arrays: Sequence[ArrayIn], scalars: Mapping[str, Any] = {}, *, poison: Places = ()
    ) -> CallResult:  # fmt: skip
        return self.answer(arrays, scalars, poison)

    def answer(self, arrays: Sequence[ArrayIn], scalars: Mapping[str, Any], poison: Places) -> CallResult:
        """What one call comes to; without a change, that of the inner kernel."""
        return self.inner.call(arrays, scalars, poison=poison)

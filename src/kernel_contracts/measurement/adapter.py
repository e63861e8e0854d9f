"""What measurement asks of an execution stack: arrays in, arrays out, a fence and a fingerprint.

Requirement: an adapter imports its one library inside its methods, moves bits (never values) and changes no global
switch of the stack, since the switches are part of what is measured.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Protocol, runtime_checkable

from numpy.typing import NDArray

from kernel_contracts.measurement.calls import Scope


class KernelFile(Protocol):
    """A kernel that is no Python function, opened and ready to be launched."""

    formats: frozenset[str] | None
    """Number formats that it takes and gives; None where it takes whatever the stack holds."""

    def launch(self, scope: Scope) -> Callable[..., Any]:
        """The kernel as a function: arrays of the stack in the order of the scope and scalars by name go in, an array
        or a tuple of arrays in the order of the scope's outputs comes out.

        Called once for each scope, before the clock runs. Raises TargetError with a sentence where the file cannot
        serve this scope; whatever else it raises counts as the kernel's own failure.
        """


@runtime_checkable
class Stack(Protocol):
    """One array library with its devices. `stacks.base.Plain` has what most stacks do not need."""

    name: str
    """The word users type, for example `torch`; `torch@one-thread` for a variant."""
    native_dtypes: frozenset[str]
    """Format names that are measured when the user names none; further formats may still convert."""
    requires: tuple[str, str]
    """Import name of the library, and what to install when it is missing."""
    variants: Mapping[str, Mapping[str, str]]
    """Named settings of the environment that change results: `one-thread` -> `OMP_NUM_THREADS` = `1`."""
    environment: Mapping[str, str]
    """Environment variables of its worker process, set before the process starts."""
    files: Mapping[str, str]
    """Suffixes of the kernel files that it runs, each with the form of a target: `.cl` -> `kernels.cl:entry`."""
    natives: str
    """The folder of `stacks/natives` that holds its own operations."""
    lacks: frozenset[str]
    """Operations and families (modules) of that folder that it does not offer."""
    compiling: float
    """Seconds on top of the time limit for the first call of each shape and dtype, in which it compiles; else 0."""

    def available(self) -> bool:
        """True when the library is installed; imports nothing."""

    def preload(self) -> None:
        """Imports the library, in a process whose copies run kernels. Starts no thread and looks at no device."""

    def version(self) -> str:
        """The library's version."""

    def devices(self) -> tuple[str, ...]:
        """Devices of this machine, the default one first."""

    def compiles_apart(self, device: str) -> bool:
        """Whether its compiler is a program of its own, so that time on top is due only while the worker runs one."""

    def to_native(self, array: NDArray[Any], device: str) -> Any:
        """The same bits as an array of this stack; shares memory and keeps strides where the stack can.

        Raises TypeError with a sentence when the stack has no such format.
        """

    def from_native(self, value: Any) -> NDArray[Any]:
        """The same bits as a NumPy array; TypeError with a sentence when `value` is no array of this stack."""

    def synchronize(self, device: str) -> None:
        """Returns when all work queued on the device is done."""

    def tidy(self) -> bool:
        """Between two calls: lets go of compiled code that is of no use any more where it has grown large.

        True where the next call of each shape compiles again.
        """

    def fingerprint(self) -> dict[str, Any]:
        """Version, build, threads and switches that can change a result; JSON-able."""

    def install_hint(self) -> str:
        """One sentence with the command that installs the library."""

    def compiled(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """The kernel as this stack runs it: the function itself, or what a compiler makes of it."""

    def open(self, file: str, entry: str, device: str) -> KernelFile:
        """A kernel of one of the stack's `files`; TargetError with a sentence when it cannot be opened."""

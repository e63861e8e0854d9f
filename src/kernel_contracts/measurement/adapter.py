"""What measurement asks of an execution stack: arrays in, arrays out, a fence and a fingerprint.

Requirement: an adapter imports its one library inside its methods, moves bits (never values) and changes no global
switch of the stack, since the switches are part of what is measured.
"""

from __future__ import annotations

from typing import Any, Protocol, runtime_checkable

from numpy.typing import NDArray


@runtime_checkable
class Stack(Protocol):
    """One array library with its devices."""

    name: str
    """The word users type, for example `torch`."""
    native_dtypes: frozenset[str]
    """Format names that are measured when the user names none; further formats may still convert."""
    requires: tuple[str, str]
    """Import name of the library, and what to install when it is missing."""

    def available(self) -> bool:
        """True when the library is installed; imports nothing."""

    def version(self) -> str:
        """The library's version."""

    def devices(self) -> tuple[str, ...]:
        """Devices of this machine, the default one first."""

    def to_native(self, array: NDArray[Any], device: str) -> Any:
        """The same bits as an array of this stack; shares memory and keeps strides where the stack can.

        Raises TypeError with a sentence when the stack has no such format.
        """

    def from_native(self, value: Any) -> NDArray[Any]:
        """The same bits as a NumPy array; TypeError with a sentence when `value` is no array of this stack."""

    def synchronize(self, device: str) -> None:
        """Returns when all work queued on the device is done."""

    def fingerprint(self) -> dict[str, Any]:
        """Version, build, threads and switches that can change a result; JSON-able."""

    def install_hint(self) -> str:
        """One sentence with the command that installs the library."""

"""What goes into one call of a kernel and what comes out of it: plain records.

Requirement: holds observations only. Outputs are arrays as the kernel returned them, unjudged.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from numpy.typing import NDArray

from kernel_contracts.contracts.evidence import Layout, Outcome


@dataclass(frozen=True, slots=True)
class ArrayIn:
    """One input array."""

    name: str
    array: NDArray[Any]
    """Values in their storage dtype, for example ml_dtypes.bfloat16."""
    layout: Layout = Layout.CONTIGUOUS
    """How the kernel finds it in memory; a rank too low for the layout gives CONTIGUOUS."""


@dataclass(frozen=True, slots=True)
class Way:
    """How a kernel is called beside its inputs: under which of its schedules, and where it writes."""

    parameter: str = ""
    """What the contract calls the schedule."""
    dims: Mapping[str, int] = field(default_factory=dict)
    """Sizes for which the space of schedules was asked."""
    index: int | None = None
    """Place in that space; None leaves the choice to the kernel."""
    out: bool = False
    """Poisoned arrays are passed as `out`, and what they hold afterwards is the answer."""

    def as_json(self) -> dict[str, Any]:
        chosen = {} if self.index is None else {"index": self.index, "dims": dict(self.dims)}
        return {"parameter": self.parameter, "out": self.out, **chosen}


LOOKS = 4
"""Wrong answers of one contract that are looked at again in vain."""


@dataclass(frozen=True, slots=True)
class Look:
    """What a call is asked to show beside its answer."""

    sentinel: int | None = None
    """A byte, 1 to 254, that the memory of the outputs starts with instead of NaN."""
    linger: float = 0.0
    """Seconds after which the answer is read once more; the machine code of this process is compared then as well."""

    def as_json(self) -> dict[str, Any]:
        return asdict(self)


@dataclass(frozen=True, slots=True)
class Tensor:
    """One array of a call by the contract's name for it."""

    name: str
    format: str
    """Name of its number format, for example `fp32`."""
    shape: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Scope:
    """What one call hands over and wants back, as the contract names it: what a Python signature would tell.

    Hashable, so that whatever is compiled for a scope can be kept under it.
    """

    inputs: tuple[Tensor, ...]
    outputs: tuple[Tensor, ...]
    scalars: tuple[tuple[str, str], ...] = ()
    """Name and type (`real`, `int`, `bool`) of each parameter that is passed, in the order of the scope."""
    dims: tuple[tuple[str, int], ...] = ()
    """The contract's sizes by name, in the order in which its scope mentions them."""

    def as_json(self) -> dict[str, Any]:
        return asdict(self)

    @staticmethod
    def from_json(data: Mapping[str, Any]) -> Scope:
        inputs, outputs = (
            tuple(Tensor(t["name"], t["format"], tuple(t["shape"])) for t in data[key]) for key in ("inputs", "outputs")
        )
        scalars, dims = (tuple((name, value) for name, value in data[key]) for key in ("scalars", "dims"))
        return Scope(inputs, outputs, scalars, dims)


@dataclass(frozen=True, slots=True)
class CallResult:
    """How one call ended."""

    outcome: Outcome
    detail: str = ""
    """Exception type and text, signal name, limit reached, or what was wrong with the returned object."""
    outputs: tuple[NDArray[Any], ...] = ()
    dtypes: tuple[str, ...] = ()
    """Format name of each output, or NumPy's dtype name where the language has no such format."""
    defect: str = ""
    """`wrong_type` when something other than an array or a tuple of arrays came back."""
    mutated: tuple[str, ...] = ()
    """Inputs whose bytes changed, the poisoned memory around them included."""
    aliased: tuple[str, ...] = ()
    """Inputs whose memory an output shares."""
    dropped: tuple[str, ...] = ()
    """Scalars that were not passed because the kernel's signature does not accept them."""
    seconds: float = 0.0
    """Wall time from the call to its end, the device drained; measured by this process."""
    error_type: str = ""
    """Name of the exception class when the kernel raised."""
    printed: str = ""
    """Tail of what the kernel printed."""
    state: Mapping[str, Any] = field(default_factory=dict)
    """Floating-point switches of the calling thread after the call; under `before`, the same before it,
    under `fresh` before the kernel was loaded."""


@dataclass(frozen=True, slots=True)
class LoadReport:
    """What is known about a kernel once it is loaded."""

    name: str
    file: str
    """The file the kernel's code comes from; empty where there is none."""
    sha256: str
    """Of that file; taken before the kernel's code ran when the target names a file."""
    parameters: tuple[str, ...]
    """Names in the signature, in order; empty when it cannot be inspected."""
    keywords: frozenset[str]
    """Those of them that can be passed by name."""
    accepts_any: bool
    """True when the signature ends in **kwargs."""
    stack: str
    stack_version: str
    device: str
    fingerprint: Mapping[str, Any]
    formats: frozenset[str] | None = None
    """Number formats that a kernel file takes and gives; None where they are whatever the stack holds."""

    def accepts(self, scalar: str, arrays: int = 0) -> bool:
        """Whether `scalar` can be passed by name beside `arrays` positional arrays."""
        if scalar in self.parameters[:arrays]:
            return False  # an array already sits in that place
        return scalar in self.keywords or self.accepts_any

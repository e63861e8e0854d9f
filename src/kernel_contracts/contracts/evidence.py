"""What a measurement wants, what it saw, and what follows: plain frozen records, no arrays.

A class plans `Case`s and judges `Observation`s; everything here serializes to JSON, so a verdict can be
recomputed from its trace.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any


class Verdict(StrEnum):
    """The closed set of answers. They are never merged, and none depends on a timing."""

    CONFORMS = "conforms"
    VIOLATES = "violates"
    UNDER_SPECIFIED = "under-specified"
    """The calibration does not separate, or a difference that no clause covers."""
    INCONCLUSIVE = "inconclusive"
    """Budget or oracle too weak for this tolerance."""
    INAPPLICABLE = "inapplicable"
    """A documented refusal, or a precondition that cannot be met; the feature is named."""
    ERROR = "error"
    """Our fault, never the kernel's."""


class Outcome(StrEnum):
    """How one call of the kernel ended. All but RETURNED are evidence about the kernel."""

    RETURNED = "returned"
    RAISED = "raised"
    CRASHED = "crashed"
    HUNG = "hung"
    OUT_OF_MEMORY = "out_of_memory"


class Layout(StrEnum):
    """How the inputs lie in memory; the values are the same in each."""

    CONTIGUOUS = "contiguous"
    TRANSPOSED = "transposed"
    """The last two axes are stored swapped (rank 2 and more)."""
    STRIDED = "strided"
    """Every second element along the last axis of a larger buffer, the gaps poisoned."""
    OFFSET = "offset"
    """A view that starts some elements into a larger buffer, both ends poisoned."""


@dataclass(frozen=True, slots=True)
class Case:
    """One input to measure: enough to make it again exactly."""

    id: int
    family: str
    """Input family or probe, with its arguments, for example `cancelling(1e6)`."""
    dtypes: Mapping[str, str]
    """Dtype variables to format names, for example {"P": "bf16"}."""
    dims: Mapping[str, int]
    scalars: Mapping[str, Any]
    layout: Layout
    seed: int
    shape_family: str = ""
    """Where the shape came from, for example `tails(128)`."""

    @property
    def work(self) -> int:
        """Product of all dims: a crude size."""
        out = 1
        for n in self.dims.values():
            out *= max(n, 1)
        return out


@dataclass(frozen=True, slots=True)
class Element:
    """One output element beside its oracle."""

    output: str
    index: tuple[int, ...]
    got: float
    oracle: float
    tolerance: float
    ratio: float


@dataclass(frozen=True, slots=True)
class Extent:
    """How large the errors of one output are and where they lie. For pictures: no verdict and no signature reads it."""

    residual: float
    """|y - y*| at the element with the largest ratio."""
    tolerance: float
    """What is permitted at that element."""
    plane: tuple[int, int]
    """Rows and columns of the output: leading axes lie on top of each other, and a vector is one row."""
    blocks: tuple[int, int]
    """Rows and columns that one block of `map` covers, the last ones fewer."""
    map: tuple[tuple[float, ...], ...] = ()
    """The largest ratio within each block; empty where every element is exactly right."""


@dataclass(frozen=True, slots=True)
class OutputReading:
    """One output of one call, compared with the oracle."""

    name: str
    size: int
    ratio: float
    """max |y - y*| / tolerance over all elements; 0/0 counts as 0, NaN and stray infinities as infinite."""
    exceeding: int
    """Elements whose ratio is above 1."""
    undetermined: int
    """Elements where the bound admits every answer."""
    exact: int
    """Elements whose oracle admits exactly one value: evidence without a tolerance."""
    exact_wrong: int
    """Of those, the wrong ones."""
    nonfinite: int
    """NaN or infinite where a finite number is due."""
    zeros: int
    """Zero where the oracle is not."""
    worst: Element | None
    region: Mapping[str, tuple[int, int]] = field(default_factory=dict)
    """For each output dim, the first and last index at which an element exceeds."""
    boundary: Mapping[str, int] = field(default_factory=dict)
    """Dims in which everything before this index is right and something after it is wrong."""
    own_error: float = 0.0
    """Largest share of the tolerance taken by the oracle's own error."""
    extent: Extent | None = None
    """None where nothing was compared element by element with a tolerance."""


@dataclass(frozen=True, slots=True)
class Observation:
    """What one case showed."""

    case: Case
    outcome: Outcome
    detail: str = ""
    """Exception type and text, signal name, limit reached, or what was wrong with the returned object."""
    defect: str = ""
    """Set when the returned object is not of the scope's type (wrong_dtype, wrong_shape, wrong_type, wrong_count) or is
    not what the same call returned before (run_dependent, thread_dependent, ...)."""
    outputs: tuple[OutputReading, ...] = ()
    mutated: tuple[str, ...] = ()
    """Inputs whose bytes differ after the call."""
    readings: Mapping[str, float] = field(default_factory=dict)
    """Numbers a probe read, for example effective_bits."""
    facts: Mapping[str, str] = field(default_factory=dict)
    """Words an experiment found, for example the policy that was followed."""
    hypotheses: Mapping[str, float] = field(default_factory=dict)
    """For each mutant of the contract: share of the candidate's error that it does not explain (0 = all explained)."""
    oracle: str = ""
    """Which step of the ladder gave the oracle: fp64, extended, ball."""
    oracle_ok: bool = True
    """False when the oracle's own error is not under 1% of the tolerance."""
    skipped: str = ""
    """Why nothing was measured: precondition unmet, too large."""
    hashes: Mapping[str, str] = field(default_factory=dict)
    """Digest of each input and output."""
    timing: Mapping[str, float] = field(default_factory=dict)
    """Seconds for oracle, bound, candidate, overhead. A record apart; no verdict reads it."""

    @property
    def ratio(self) -> float:
        return max((o.ratio for o in self.outputs), default=0.0)

    @property
    def violating(self) -> bool:
        return bool(self.defect) or any(o.exceeding for o in self.outputs)


@dataclass(frozen=True, slots=True)
class Signature:
    """A named defect with numbers: `accumulator_narrowed: 11 bits effective, 24 declared`."""

    name: str
    detail: str

    def __str__(self) -> str:
        return f"{self.name}: {self.detail}" if self.detail else self.name


@dataclass(frozen=True, slots=True)
class Finding:
    """The verdict on one contract for one dtype binding."""

    verdict: Verdict
    reason: str
    """One sentence a kernel author understands."""
    signature: Signature | None = None
    witness: Observation | None = None
    """The smallest violating observation."""
    ratio: float = 0.0
    samples: int = 0
    failures: int = 0
    undetermined: float = 0.0
    """Share of elements where the bound admits every answer."""
    tolerance_free: int = 0
    """Elements that admit exactly one value (graded apart from tolerance-based evidence)."""
    notes: tuple[str, ...] = ()

    @property
    def upper95(self) -> float | None:
        """With no failure in n samples, the failure rate is below 3/n at 95% (rule of three)."""
        return 3.0 / self.samples if self.samples and not self.failures else None

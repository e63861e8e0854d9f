"""An elaborated contract: everything the author meant, with nothing left implicit.

A `Contract` is still generic over its dtype variables and sizes; `bind` gives one `Instance` of it per choice of
dtypes, whose reference program has concrete formats.
"""

from __future__ import annotations

import hashlib
import itertools
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from kernel_contracts.formats import Format
from kernel_contracts.language import syntax
from kernel_contracts.numerics.bounded import BoundContext
from kernel_contracts.numerics.dims import Dim, Shape
from kernel_contracts.numerics.program import Program


@dataclass(frozen=True, slots=True)
class Range:
    """Sizes or scalars a contract covers: an interval, or a finite set of choices."""

    low: float
    high: float
    choices: tuple[float, ...] | None = None

    def holds(self, value: float) -> bool:
        return value in self.choices if self.choices is not None else self.low <= value <= self.high

    def nearest(self, wanted: float) -> int:
        """The whole number that it covers and that is closest to what one would like."""
        if self.choices is not None:
            return int(min(self.choices, key=lambda c: abs(c - wanted)))
        return int(min(max(wanted, self.low), self.high))

    def meet(self, other: Range) -> Range:
        low, high = max(self.low, other.low), min(self.high, other.high)
        sets = [r.choices for r in (self, other) if r.choices is not None]
        choices = tuple(c for c in sets[0] if low <= c <= high and all(c in s for s in sets)) if sets else None
        return Range(low, high, choices)


@dataclass(frozen=True, slots=True)
class TensorDecl:
    """One array of the scope, its dtype still an expression over dtype variables."""

    name: str
    dtype: syntax.Expr
    shape: Shape


@dataclass(frozen=True, slots=True)
class ScalarDecl:
    name: str
    type: str
    default: float | int | bool | None
    """None: the caller must give it."""


@dataclass(frozen=True, slots=True)
class Facts:
    """What the precondition says of one input."""

    finite: bool = False
    positive: bool = False
    limit: float | None = None
    low: Dim | None = None
    """Least index, for integer inputs."""
    high: Dim | None = None
    """Largest index, inclusive."""


@dataclass(frozen=True, slots=True)
class Precondition:
    """The contract's domain, taken apart."""

    ranges: Mapping[str, Range]
    """For each dim."""
    scalars: Mapping[str, Range]
    facts: Mapping[str, Facts]
    predicates: tuple[syntax.Expr, ...]
    """Conditions over sizes and scalars that no range expresses."""


@dataclass(frozen=True, slots=True)
class MeasureItem:
    """`cancelling(1e6)` as a name and its arguments; a range argument is a pair."""

    name: str
    arguments: tuple[float | tuple[float, float], ...] = ()

    def __str__(self) -> str:
        if not self.arguments:
            return self.name
        shown = [f"{a[0]:g}..{a[1]:g}" if isinstance(a, tuple) else f"{a:g}" for a in self.arguments]
        return f"{self.name}({', '.join(shown)})"


@dataclass(frozen=True, slots=True)
class Measure:
    """The measurement protocol."""

    inputs: tuple[MeasureItem, ...]
    shapes: tuple[MeasureItem, ...]
    samples: int
    sweeps: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    others: tuple[syntax.MeasureItem, ...] = ()


@dataclass(frozen=True, slots=True)
class Claim:
    """One comparison that the postcondition asks for."""

    text: str
    """The subject as written: an output, or an expression over outputs."""
    output: str
    """The output it is about; empty for an expression."""
    format: Format
    before: int
    """In `Bound.judged`, the node whose value and radius count: what a final rounding rounds, or the result itself."""
    rounded: bool
    exact: bool
    """`bitwise equal`: the reference rounded once, and nothing else."""
    target: int | None
    """Node of what it is compared with, where that is not the reference itself."""
    where: int | None
    """Node of the condition that limits it."""
    program: Program | None
    """For an expression: how to compute it from what the kernel returned."""


@dataclass(frozen=True, slots=True)
class Bound:
    """A contract for one choice of dtypes: the program and how its tolerance is derived."""

    dtypes: Mapping[str, str]
    program: Program
    """Computes the outputs."""
    judged: Program
    """The same with everything that the claims mention."""
    claims: tuple[Claim, ...]
    inputs: Mapping[str, Format]
    outputs: Mapping[str, Format]
    context: BoundContext
    accumulator: Format
    """The narrowest arithmetic in which the program adds up."""
    contracted: Mapping[str, tuple[int, ...]]
    """For each input the axes that some sum runs over."""
    products: bool
    """Whether sums are of products of two inputs."""

    @property
    def label(self) -> str:
        return ", ".join(f"{k} = {v}" for k, v in self.dtypes.items())


@dataclass(frozen=True, slots=True)
class Contract:
    """One contract, elaborated for every choice of its dtype variables."""

    name: str
    version: str
    class_id: str
    doc: str
    operation: str
    path: str
    variables: Mapping[str, tuple[str, ...]]
    inputs: tuple[TensorDecl, ...]
    scalars: tuple[ScalarDecl, ...]
    outputs: tuple[TensorDecl, ...]
    ranks: str | None
    dims: tuple[str, ...]
    pre: Precondition
    post: tuple[syntax.Guarantee, ...]
    tolerance: syntax.Tolerance
    policies: Mapping[str, tuple[str, ...]]
    refusals: tuple[syntax.OrRaise, ...]
    measure: Measure
    violation: tuple[str, ...]
    calibrate: tuple[syntax.CalibrateState, ...]
    source: str
    """Canonical text of the contract with the definitions it uses."""
    bound: tuple[Bound, ...]

    @property
    def key(self) -> str:
        return f"{self.name} {self.version}"

    @property
    def digest(self) -> str:
        """SHA-256 of the canonical text: the identity that traces and certificates refer to."""
        return hashlib.sha256(self.source.encode()).hexdigest()

    def choices(self) -> list[dict[str, str]]:
        """Every binding of the dtype variables."""
        names = list(self.variables)
        return [dict(zip(names, c, strict=True)) for c in itertools.product(*self.variables.values())]

    def defaults(self) -> dict[str, Any]:
        return {s.name: s.default for s in self.scalars if s.default is not None}

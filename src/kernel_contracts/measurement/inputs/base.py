"""What an input family is, and how the families of this package are found.

Requirement on every family: the values it hands out are representable in the tensor's format, finite (but for a tensor
that is `unbounded`), and satisfy the tensor's preconditions, for every shape down to empty ones. `Family.generate`
enforces that in one place, so a family states only its idea.
"""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from kernel_contracts.errors import ArithmeticScopeError, UsageError
from kernel_contracts.formats import Format
from kernel_contracts.numerics.rounding import round_to, ulp_of

Array = NDArray[np.float64]
Argument = float | tuple[float, float]
Arguments = tuple[Argument, ...]
Values = Mapping[str, NDArray[Any]]

MODERATE = 2.0**-10
"""Where a precondition demands a positive number and a family gives zero; range ends belong to other families."""


@dataclass(frozen=True, slots=True)
class TensorSpec:
    """One input tensor and what its preconditions demand."""

    name: str
    format: Format
    shape: tuple[int, ...]
    contracted: tuple[int, ...] = ()
    """Axes that the reference sums over."""
    low: int | None = None
    """For integers: the index range, inclusive."""
    high: int | None = None
    positive: bool = False
    limit: float | None = None
    """The precondition demands |x| <= limit."""
    unbounded: bool = False
    """The precondition admits infinities and NaN; a family may use that, most do not."""

    @property
    def is_real(self) -> bool:
        return self.format.is_real

    @property
    def size(self) -> int:
        return int(np.prod(self.shape, dtype=np.int64))

    @property
    def terms(self) -> int:
        """How many elements one sum takes in; 1 where nothing is summed."""
        return int(np.prod([self.shape[a] for a in self.contracted], dtype=np.int64))

    @property
    def top(self) -> float:
        """The largest magnitude that format and precondition allow."""
        top = self.format.max_finite
        if self.limit is None or self.limit >= top:
            return top
        rounded = float(round_to(self.limit, self.format))
        return rounded if rounded <= self.limit else rounded - float(ulp_of(self.limit, self.format))


@dataclass(frozen=True, slots=True)
class Request:
    """The tensors of one case and the arithmetic that their sums are declared in."""

    tensors: tuple[TensorSpec, ...]
    accumulator: Format
    products: bool
    """The sums are of products of two inputs."""
    output: Format
    """The narrowest output format."""
    rng: np.random.Generator

    @property
    def reals(self) -> tuple[TensorSpec, ...]:
        return tuple(t for t in self.tensors if t.is_real)

    @property
    def terms(self) -> int:
        """The length of the longest sum."""
        return max((t.terms for t in self.reals), default=1)

    @property
    def output_top(self) -> float:
        """The largest finite output; without limit where the output is an index or a truth value."""
        return self.output.max_finite if self.output.is_real else float("inf")

    @property
    def headroom(self) -> float:
        """A quarter of the range that accumulator and output share."""
        return min(self.accumulator.max_finite, self.output_top) / 4

    def largest(self, spec: TensorSpec) -> float:
        """The magnitude up to which every sum (of products) that `spec` enters stays within the headroom."""
        room = self.headroom / max(self.terms, 1)
        if self.products:
            room = room**0.5
        elif len(self.reals) > 1:
            room = self.headroom ** (1 / len(self.reals)) / max(self.terms, 1)  # they may meet in a product
        return min(room, spec.top)


@runtime_checkable
class InputFamily(Protocol):
    """One idea of what to feed a kernel."""

    @property
    def name(self) -> str: ...
    @property
    def doc(self) -> str: ...
    @property
    def probe(self) -> bool:
        """Where the reference is such a sum, the declared arithmetic admits exactly one answer."""
        ...

    @property
    def shows(self) -> frozenset[str]:
        """Names of the signatures that it is able to show."""
        ...

    def generate(self, request: Request, *arguments: Argument) -> dict[str, NDArray[Any]]: ...
    def read(self, request: Request, inputs: Values, outputs: Values, oracle: Values) -> dict[str, float]: ...


@dataclass(frozen=True, slots=True)
class Family:
    """A family made of one function; `make` returns raw values of the real tensors it cares about, by name."""

    name: str
    doc: str
    make: Callable[[Request, Arguments], dict[str, Array]]
    shows: frozenset[str] = frozenset()
    probe: bool = False
    parameters: tuple[str, ...] = ()
    """Names of the arguments it accepts, in order; each may be left out."""
    reader: Callable[[Request, Values, Values, Values], dict[str, float]] | None = None

    def generate(self, request: Request, *arguments: Argument) -> dict[str, NDArray[Any]]:
        """Float64 values representable in each real tensor's format, int64 for integers, bool for truth values."""
        if len(arguments) > len(self.parameters):
            accepted = ", ".join(self.parameters) or "no argument"
            raise UsageError(f"input family {self.name}: got {len(arguments)} arguments, it accepts {accepted}")
        made = self.make(request, arguments)
        out: dict[str, NDArray[Any]] = {}
        for spec in request.tensors:
            if not spec.is_real:
                out[spec.name] = whole_or_bool(spec, request)
            elif spec.name in made:
                out[spec.name] = conform(made[spec.name], spec)
            else:
                out[spec.name] = conform(request.rng.standard_normal(spec.shape), spec)
        return {name: np.asarray(x) for name, x in out.items()}  # arithmetic on no axes gives NumPy's scalars

    def read(self, request: Request, inputs: Values, outputs: Values, oracle: Values) -> dict[str, float]:
        """Numbers that the outputs show beside right and wrong; most families read none."""
        return self.reader(request, inputs, outputs, oracle) if self.reader else {}


def each(fill: Callable[[TensorSpec, Request, Arguments], Array]) -> Callable[[Request, Arguments], dict[str, Array]]:
    """A `make` that fills the real tensors one by one."""

    def make(request: Request, arguments: Arguments) -> dict[str, Array]:
        return {spec.name: fill(spec, request, arguments) for spec in request.reals}

    return make


def conform(values: Any, spec: TensorSpec) -> Array:
    """The values made to satisfy the format and the preconditions; a no-op on values that already do."""
    values = np.asarray(values, dtype=np.float64).reshape(spec.shape)
    if spec.positive:
        values = np.abs(values)
        least = spec.format.least_normal
        values = np.where(values < least, min(max(MODERATE, least), spec.top), values)
    top = spec.top
    return np.clip(round_to(np.clip(values, -top, top), spec.format, overflow="saturate"), -top, top)


def whole_or_bool(spec: TensorSpec, request: Request) -> NDArray[Any]:
    """Uniform indices within the stated range, or fair coin tosses."""
    if spec.format.kind == "bool":
        return request.rng.integers(0, 2, spec.shape).astype(np.bool_)
    low, high = spec.low, spec.high
    if low is None and high is None and spec.contracted:
        room = int((2.0**request.accumulator.precision / max(spec.terms, 1)) ** 0.5)
        low, high = max(-room, spec.format.min_int), min(room, spec.format.max_int)
    low = 0 if low is None else low
    high = max(low, 15) if high is None else high
    low, high = max(low, spec.format.min_int), min(high, spec.format.max_int)
    if spec.size and low > high:
        raise ArithmeticScopeError(f"input {spec.name}: no integer lies in {low}..{high}; choose a larger dimension")
    return request.rng.integers(low, max(low, high), spec.shape, dtype=np.int64, endpoint=True)


def number(arguments: Arguments, index: int, default: float) -> float:
    """The argument at `index` as one number, for families that take no range."""
    if index >= len(arguments):
        return default
    value = arguments[index]
    if isinstance(value, tuple):
        raise UsageError(f"argument {value[0]:g}..{value[1]:g}: this input family takes one number, not a range")
    return float(value)


@cache
def families() -> dict[str, InputFamily]:
    """Every family by name, found by listing the modules of this package."""
    package = importlib.import_module(__package__ or "")
    found: dict[str, InputFamily] = {}
    for module in sorted(m.name for m in pkgutil.iter_modules(package.__path__)):
        family = getattr(importlib.import_module(f"{package.__name__}.{module}"), "FAMILY", None)
        if family is None:
            continue
        if family.name in found:
            raise ValueError(f"two input families are called {family.name}")
        found[family.name] = family
    return found

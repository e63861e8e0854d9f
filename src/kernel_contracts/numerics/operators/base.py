"""What an operator is: a type rule and three interpretations.

`value` evaluates it in a number domain, `bound` gives value and radius under the declared arithmetic, `emulate` does
it with every operation rounded. An operator whose emulation is "the exact result, rounded once" leaves it out.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from kernel_contracts.errors import ArithmeticScopeError
from kernel_contracts.formats import FP32, FP64, INT64, Format, wider
from kernel_contracts.numerics.bounded import Array, BoundContext, Bounded
from kernel_contracts.numerics.dims import broadcast
from kernel_contracts.numerics.domains import FLOAT64, Domain
from kernel_contracts.numerics.program import Type
from kernel_contracts.numerics.rounding import round_to, ulp_of
from kernel_contracts.numerics.summation import Order

Attrs = Mapping[str, Any]
Infer = Callable[[list[Type], dict[str, Any], Format], Type]
Value = Callable[[Domain, Attrs, Format, list[Any]], Any]
Bound = Callable[[BoundContext, Attrs, Format, list[Bounded]], Bounded]


@dataclass(frozen=True, slots=True)
class EmulateContext:
    """One conforming way to execute: summation order, contraction to FMA, and where in their budget functions land."""

    order: Order = field(default_factory=Order)
    fma: bool = False
    rng: np.random.Generator | None = None
    """When given, elementary functions err anywhere inside their ulp budget instead of being correctly rounded."""
    carry: bool = True
    """Whether `at_least(x, P)` really holds x in P (the coarsest permitted choice)."""
    ulps: Mapping[str, float] = field(default_factory=dict)
    flush: bool = False
    """Subnormal operands and results of every operation become zero."""
    absolute: frozenset[str] = frozenset()
    """Functions whose budget counts in ulp of 1."""

    def shifted(self, y: Array, fmt: Format, budget: float) -> Array:
        """`y` rounded to `fmt`, moved at random by up to `budget` ulp of 1."""
        if self.rng is not None:
            room = max(2 * budget - (4.0 if fmt.precision > 50 else 0.0), 0.0)
            y = y + self.rng.uniform(-1, 1, np.shape(y)) * room * fmt.u
        return round_to(y, fmt)

    def perturb(self, name: str, y: Array, fmt: Format, budget: float) -> Array:
        """`y` rounded to `fmt`, moved at random within what `budget` ulp leave."""
        if self.rng is not None and budget > 0.5:
            # the last half ulp is spent on the rounding itself
            # (and, in float64 itself, two ulp on what computing y costs); the sign and an exact zero are kept
            room = max(budget - 0.5 - (2.0 if fmt.precision > 50 else 0.0), 0.0)
            with np.errstate(invalid="ignore", over="ignore"):
                moved = self.rng.uniform(-room, room, np.shape(y)) * ulp_of(y, fmt)
                moved += y
            moved = np.where(np.signbit(moved) == np.signbit(y), moved, np.copysign(0.0, y))
            y = np.where(np.isfinite(y) & (y != 0), moved, y)
        return round_to(y, fmt)


Emulate = Callable[[EmulateContext, Attrs, Format, list[Array]], Array]


@dataclass(frozen=True, slots=True)
class Operator:
    """An entry of the vocabulary. `arity` None takes any number of operands."""

    name: str
    arity: int | None
    infer: Infer
    value: Value
    bound: Bound
    emulate: Emulate | None = None
    sums: bool = False
    """Adds many terms up: an accumulator exists and its format matters."""
    computes: bool = True
    """Rounds: operands wider than the declared arithmetic are converted to it first. Moves and choices do not."""
    doc: str = ""

    def run(self, context: EmulateContext, attrs: Attrs, fmt: Format, args: list[Array]) -> Array:
        """The emulation; by default the exact result rounded once."""
        if self.emulate is not None:
            return self.emulate(context, attrs, fmt, args)
        result = self.value(FLOAT64, attrs, fmt, args)
        return as_held(result, fmt) if self.computes else np.asarray(result)


def as_held(x: Any, fmt: Format) -> Array:
    """Rounds a real array to `fmt`; integers and booleans stay."""
    x = np.asarray(x)
    return round_to(x, fmt) if x.dtype.kind == "f" else x


def arithmetic_type(types: Sequence[Type], fmt: Format) -> Type:
    """Elementwise arithmetic: all-integer operands stay integers, anything else is done in `fmt`."""
    shape = broadcast(t.shape for t in types)
    if all(t.kind == "int" for t in types):
        return Type(INT64, shape)
    if any(t.kind == "bool" for t in types):
        raise ArithmeticScopeError("a truth value is no number here; write cast(x, fp32) or where(c, a, b)")
    return Type(fmt, shape)


def need_real(name: str, types: Sequence[Type]) -> None:
    for t in types:
        if t.kind == "bool":
            raise ArithmeticScopeError(f"{name} needs numbers, not {t}")


def holds_all(target: Format, source: Format) -> bool:
    """Whether every number of `source` is one of `target`."""
    return (
        source.kind == "real"
        and source.precision <= target.precision
        and source.max_finite <= target.max_finite
        and source.least_subnormal >= target.least_subnormal
    )


def held(types: Sequence[Type]) -> Format:
    """The format that holds all operands of an operation that computes nothing: one of theirs, else fp32 or fp64."""
    reals = [t.format for t in types if t.kind == "real"]
    if not reals:
        return types[0].format if types else FP64
    out = reals[0]
    for f in reals[1:]:
        choices = (wider(out, f), out, f, FP32, FP64)
        out = next(c for c in choices if holds_all(c, out) and holds_all(c, f))
    return out


def axis_index(types_rank: int, axis: int) -> int:
    """A non-negative axis. Raises ArithmeticScopeError when out of range."""
    if not -types_rank <= axis < types_rank:
        raise ArithmeticScopeError(f"axis {axis} does not exist in {types_rank} dimension(s)")
    return axis % types_rank

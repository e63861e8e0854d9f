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
from kernel_contracts.formats import FP64, INT64, Format, wider
from kernel_contracts.numerics.bounded import Array, BoundContext, Bounded
from kernel_contracts.numerics.dims import broadcast
from kernel_contracts.numerics.domains import FLOAT64, Domain
from kernel_contracts.numerics.program import Type
from kernel_contracts.numerics.rounding import round_to
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

    def perturb(self, name: str, y: Array, fmt: Format, budget: float) -> Array:
        """`y` rounded to `fmt`, moved at random within what `budget` ulp leave."""
        if self.rng is not None and budget > 0.5:
            # one ulp is at least 2^-p of the value; the last half ulp is spent on the rounding itself
            y = y + y * self.rng.uniform(-1, 1, np.shape(y)) * (budget - 0.5) * fmt.u
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
        return as_held(self.value(FLOAT64, attrs, fmt, args), fmt)


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


def held(types: Sequence[Type]) -> Format:
    """The widest format among the operands: what an operation that computes nothing keeps."""
    reals = [t.format for t in types if t.kind == "real"]
    if not reals:
        return types[0].format if types else FP64
    out = reals[0]
    for f in reals[1:]:
        out = wider(out, f)
    return out


def axis_index(types_rank: int, axis: int) -> int:
    """A non-negative axis. Raises ArithmeticScopeError when out of range."""
    if not -types_rank <= axis < types_rank:
        raise ArithmeticScopeError(f"axis {axis} does not exist in {types_rank} dimension(s)")
    return axis % types_rank

"""Step functions: floor, sign, floor division and remainder.

They are exact on exact operands. On uncertain ones the radius says which steps are in reach, or that nothing is known.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from kernel_contracts.formats import Format
from kernel_contracts.numerics.bounded import BoundContext, Bounded, clean
from kernel_contracts.numerics.domains import FLOAT64, Domain
from kernel_contracts.numerics.operators.base import Attrs, Operator
from kernel_contracts.numerics.operators.elementwise import grid, infer, integers, keep_type, unknown


def _floor_div(domain: Domain, attrs: Attrs, fmt: Format, args: list[Any]) -> Any:
    if integers(args):
        with np.errstate(divide="ignore"):
            return args[0] // args[1]
    return domain.quotient(args[0], args[1])


def _modulo(domain: Domain, attrs: Attrs, fmt: Format, args: list[Any]) -> Any:
    if integers(args):
        with np.errstate(divide="ignore", invalid="ignore"):
            return args[0] % args[1]
    return domain.remainder(args[0], args[1])


def _quotient(value: Any) -> Any:
    """A bound for floor division and remainder: the exact result rounded once, unknown on uncertain operands."""

    def bound(context: BoundContext, attrs: Attrs, fmt: Format, args: list[Bounded]) -> Bounded:
        v = value(FLOAT64, attrs, fmt, [a.v for a in args])
        if v.dtype.kind in "iu":
            return unknown(args, v)
        known = sum((a.radius() for a in args), np.zeros(np.shape(v))) == 0
        step = grid(args[0], args[1], "add") if value is _modulo else 1.0
        whole = context.rounded(v, 0.0, fmt, quantum=step if known.all() else None)
        return whole if known.all() else Bounded(v, np.where(known, whole.radius(), np.inf))

    return bound


def _stepped(value: Any) -> Any:
    """A bound for a step function of one operand: exact on exact ones, otherwise the steps that the radius reaches."""

    def bound(context: BoundContext, attrs: Attrs, fmt: Format, args: list[Bounded]) -> Bounded:
        v = value(FLOAT64, attrs, fmt, [a.v for a in args])
        if v.dtype.kind in "iu" or all(a.exact for a in args):
            return unknown(args, v) if v.dtype.kind in "iu" else Bounded(v, 0.0, quantum=1.0)
        with np.errstate(invalid="ignore", over="ignore"):
            high = value(FLOAT64, attrs, fmt, [a.v + a.e for a in args])
            low = value(FLOAT64, attrs, fmt, [a.v - a.e for a in args])
            e = np.maximum(np.abs(high - v), np.abs(v - low))
            # an infinity is a fixed point; an unknown operand may be NaN
            e = np.where(np.isfinite(args[0].radius()), np.where(np.isnan(e), 0.0, e), np.inf)
        return clean(v, e, 0.0, None, np.abs(v))

    return bound


def _floor(domain: Domain, attrs: Attrs, fmt: Format, args: list[Any]) -> Any:
    return domain.floor(domain.real(args[0]))


def _sign(domain: Domain, attrs: Attrs, fmt: Format, args: list[Any]) -> Any:
    x = domain.real(args[0])
    return domain.real(np.where(domain.compare(">", x, 0), 1.0, np.where(domain.compare("<", x, 0), -1.0, 0.0)))


OPERATORS = (
    Operator("floordiv", 2, infer, _floor_div, _quotient(_floor_div)),
    Operator("mod", 2, infer, _modulo, _quotient(_modulo)),
    Operator("floor", 1, keep_type, _floor, _stepped(_floor), computes=False),
    Operator("sign", 1, keep_type, _sign, _stepped(_sign), computes=False),
)

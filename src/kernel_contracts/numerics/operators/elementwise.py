"""Arithmetic and elementary functions, one element at a time."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from kernel_contracts.formats import Format
from kernel_contracts.numerics.bounded import Array, BoundContext, Bounded, Radius
from kernel_contracts.numerics.domains import FLOAT64, Domain
from kernel_contracts.numerics.operators.base import (
    Attrs,
    EmulateContext,
    Operator,
    arithmetic_type,
    need_real,
)
from kernel_contracts.numerics.program import Type

#: Relative error of a difference of two function values computed in float64: a few ulp of either.
OWN = 8 * FLOAT64.u


def infer(types: list[Type], attrs: dict[str, Any], fmt: Format) -> Type:
    return arithmetic_type(types, fmt)


def _infer_real(types: list[Type], attrs: dict[str, Any], fmt: Format) -> Type:
    need_real("a function", types)
    return Type(fmt, types[0].shape if len(types) == 1 else arithmetic_type(types, fmt).shape)


def integers(args: list[Any]) -> bool:
    return all(np.asarray(a).dtype.kind in "iu" for a in args)


def real(domain: Domain, args: list[Any]) -> list[Any]:
    return args if integers(args) else [domain.real(a) for a in args]


def unknown(args: list[Bounded], v: Array) -> Bounded:
    """An integer result: exact, or undetermined where an operand is."""
    return Bounded(v, 0.0 if all(a.exact for a in args) else sum((a.radius() for a in args), np.zeros(np.shape(v))))


def grid(a: Bounded, b: Bounded, op: str) -> float | None:
    if a.quantum is None or b.quantum is None or not (a.exact and b.exact):
        return None
    return a.quantum * b.quantum if op == "mul" else min(a.quantum, b.quantum)


def _sum_value(sign: int) -> Any:
    def value(domain: Domain, attrs: Attrs, fmt: Format, args: list[Any]) -> Any:
        a, b = real(domain, args)
        with np.errstate(invalid="ignore", over="ignore"):
            return a + b if sign > 0 else a - b

    return value


def _sum_bound(sign: int) -> Any:
    value = _sum_value(sign)

    def bound(context: BoundContext, attrs: Attrs, fmt: Format, args: list[Bounded]) -> Bounded:
        a, b = args
        v = value(FLOAT64, attrs, fmt, [a.v, b.v])
        if v.dtype.kind in "iu":
            return unknown(args, v)
        return context.rounded(
            v, a.e + b.e, fmt, tiny=False, quantum=grid(a, b, "add"), nonneg=sign > 0 and a.nonneg and b.nonneg
        )

    return bound


def _mul_value(domain: Domain, attrs: Attrs, fmt: Format, args: list[Any]) -> Any:
    a, b = real(domain, args)
    with np.errstate(invalid="ignore", over="ignore"):
        return a * b


def _times(a: Radius, b: Any) -> Radius:
    """A radius scaled by a magnitude; an exact 0 stays exact, infinity included."""
    return 0.0 if not isinstance(a, np.ndarray) and a == 0.0 else a * b


def _mul_bound(context: BoundContext, attrs: Attrs, fmt: Format, args: list[Bounded]) -> Bounded:
    a, b = args
    v = _mul_value(FLOAT64, attrs, fmt, [a.v, b.v])
    if v.dtype.kind in "iu":
        return unknown(args, v)
    with np.errstate(invalid="ignore", over="ignore"):
        e = _times(a.e, np.abs(b.v)) + _times(b.e, np.abs(a.v)) + _times(a.e, b.e)
    return context.rounded(v, e, fmt, quantum=grid(a, b, "mul"), nonneg=a is b or (a.nonneg and b.nonneg))


def _div_value(domain: Domain, attrs: Attrs, fmt: Format, args: list[Any]) -> Any:
    with np.errstate(invalid="ignore", divide="ignore", over="ignore"):
        return domain.real(args[0]) / domain.real(args[1])


def _div_bound(context: BoundContext, attrs: Attrs, fmt: Format, args: list[Bounded]) -> Bounded:
    a, b = args
    v = _div_value(FLOAT64, attrs, fmt, [a.v, b.v])
    quantum = None
    if a.exact and b.exact:
        e: Radius = 0.0
        power = quantum_of_power(b.v)
        if power and a.quantum is not None:
            quantum = a.quantum / power
    else:
        with np.errstate(invalid="ignore", divide="ignore", over="ignore"):
            room = np.abs(b.v) - b.e
            e = (a.e + np.abs(v) * b.e) / room
            if not (room > 0).all():
                e = np.where(room > 0, e, np.inf)
    ulps = 0.5 if quantum is not None else context.ulps.get("div", 0.5)
    return context.rounded(v, e, fmt, ulps=ulps, quantum=quantum, nonneg=a.nonneg and b.nonneg)


def quantum_of_power(x: Array) -> float | None:
    """The value of `x` when it is one and the same power of two throughout, else None."""
    flat = np.asarray(x, dtype=np.float64).ravel()
    if flat.size == 0 or flat[0] <= 0 or not (flat == flat[0]).all() or not np.isfinite(flat[0]):
        return None
    return float(flat[0]) if np.frexp(flat[0])[0] == 0.5 else None


def _neg(domain: Domain, attrs: Attrs, fmt: Format, args: list[Any]) -> Any:
    return -args[0] if integers(args) else -domain.real(args[0])


def _abs(domain: Domain, attrs: Attrs, fmt: Format, args: list[Any]) -> Any:
    return np.abs(args[0] if integers(args) else domain.real(args[0]))


def _keep(value: Any, nonneg: bool) -> Any:
    """Sign changes compute nothing: the radius stays."""

    def bound(context: BoundContext, attrs: Attrs, fmt: Format, args: list[Bounded]) -> Bounded:
        return Bounded(value(FLOAT64, attrs, fmt, [args[0].v]), args[0].e, nonneg, args[0].quantum)

    return bound


def keep_type(types: list[Type], attrs: dict[str, Any], fmt: Format) -> Type:
    need_real("a sign change", types)
    return types[0]


def function(
    name: str, *, nonneg: bool = False, domain_low: float = -np.inf, lipschitz: float | None = None
) -> Operator:
    """An elementary function. Monotone ones get the exact image of the interval, others a Lipschitz constant.

    Below `domain_low` the function is undefined: an interval that reaches there admits every answer, unless no
    execution can produce such an argument (a sum of squares).
    """

    def value(domain: Domain, attrs: Attrs, fmt: Format, args: list[Any]) -> Any:
        with np.errstate(invalid="ignore", divide="ignore", over="ignore"):
            return domain.call(name, args[0])

    def reach(x: Bounded, v: Array) -> Array:
        """How far the images of the interval's ends lie from `v`."""
        with np.errstate(invalid="ignore", divide="ignore", over="ignore"):
            low = FLOAT64.real(x.v) - x.e
            if np.isfinite(domain_low) and (low < domain_low).any():
                low = np.where((low < domain_low) & (x.nonneg or np.asarray(x.e) == 0), domain_low, low)
            down, up = np.asarray(FLOAT64.call(name, low)), np.asarray(FLOAT64.call(name, FLOAT64.real(x.v) + x.e))
            for image in (down, up):
                np.subtract(image, v, out=image)
                np.abs(image, out=image)
            np.maximum(up, down, out=up)
            up += np.multiply(np.abs(v), OWN, out=np.asarray(down))
            if math.isfinite(float(np.max(up, initial=0.0))) and math.isfinite(float(np.max(x.e, initial=0.0))):
                return up
            # an unknown operand may be NaN: its image is unknown, however narrow the range of the function
            return np.where(np.asarray(x.e) == 0, 0.0, np.where(np.isinf(x.e), np.inf, up))

    def bound(context: BoundContext, attrs: Attrs, fmt: Format, args: list[Bounded]) -> Bounded:
        (x,) = args
        v = value(FLOAT64, attrs, fmt, [x.v])
        if x.exact:
            e: Radius = 0.0
        elif lipschitz is not None:
            e = np.where(np.isinf(x.e), np.inf, np.minimum(np.asarray(x.e) * lipschitz, 2.0))
        else:
            e = reach(x, v)
        if name in context.absolute:
            return context.rounded(v, e + 2 * context.ulps[name] * fmt.u, fmt)
        return context.rounded(v, e, fmt, ulps=context.ulps.get(name, 0.5), nonneg=nonneg)

    def emulate(context: EmulateContext, attrs: Attrs, fmt: Format, args: list[Array]) -> Array:
        with np.errstate(invalid="ignore", divide="ignore", over="ignore"):
            y = FLOAT64.call(name, args[0])
            if name in context.absolute:
                return context.shifted(y, fmt, context.ulps[name])
            return context.perturb(name, y, fmt, context.ulps.get(name, 0.5))

    return Operator(name, 1, _infer_real, value, bound, emulate)


def _pow_value(domain: Domain, attrs: Attrs, fmt: Format, args: list[Any]) -> Any:
    with np.errstate(invalid="ignore", divide="ignore", over="ignore"):
        return domain.power(args[0], args[1])


def _pow_bound(context: BoundContext, attrs: Attrs, fmt: Format, args: list[Bounded]) -> Bounded:
    x, y = args
    v = _pow_value(FLOAT64, attrs, fmt, [x.v, y.v])
    if x.exact and y.exact:
        e: Radius = 0.0
    else:
        base, power = FLOAT64.real(x.v), FLOAT64.real(y.v)
        with np.errstate(invalid="ignore", divide="ignore", over="ignore"):
            corners = [FLOAT64.power(base + s * x.e, power + t * y.e) for s in (-1, 1) for t in (-1, 1)]
            spread = np.max(np.abs(np.stack(np.broadcast_arrays(*corners)) - v), axis=0) + np.abs(v) * OWN
            # a sign change inside the interval makes corners meaningless
            e = np.where(np.abs(base) > x.e, spread, np.inf)
            e = np.where((np.asarray(x.e) == 0) & (np.asarray(y.e) == 0), 0.0, e)
    with np.errstate(invalid="ignore"):
        even = bool(y.exact and np.all(np.asarray(y.v) % 2 == 0))
    return context.rounded(v, e, fmt, ulps=context.ulps.get("pow", 0.5), nonneg=x.nonneg or even)


def _pow_emulate(context: EmulateContext, attrs: Attrs, fmt: Format, args: list[Array]) -> Array:
    y = _pow_value(FLOAT64, attrs, fmt, list(args))
    return context.perturb("pow", y, fmt, context.ulps.get("pow", 0.5))


def _div_emulate(context: EmulateContext, attrs: Attrs, fmt: Format, args: list[Array]) -> Array:
    y = _div_value(FLOAT64, attrs, fmt, list(args))
    if quantum_of_power(np.asarray(args[1], dtype=np.float64)):
        return context.perturb("div", y, fmt, 0.5)
    return context.perturb("div", y, fmt, context.ulps.get("div", 0.5))


OPERATORS = (
    Operator("add", 2, infer, _sum_value(1), _sum_bound(1)),
    Operator("sub", 2, infer, _sum_value(-1), _sum_bound(-1)),
    Operator("mul", 2, infer, _mul_value, _mul_bound),
    Operator("div", 2, _infer_real, _div_value, _div_bound, _div_emulate),
    Operator("pow", 2, _infer_real, _pow_value, _pow_bound, _pow_emulate),
    Operator("neg", 1, keep_type, _neg, _keep(_neg, False), computes=False),
    Operator("abs", 1, keep_type, _abs, _keep(_abs, True), computes=False),
    function("exp", nonneg=True),
    function("log", domain_low=0.0),
    function("log1p", domain_low=-1.0),
    function("expm1"),
    function("tanh"),
    function("erf"),
    function("erfc", nonneg=True),
    function("sqrt", nonneg=True, domain_low=0.0),
    function("rsqrt", nonneg=True, domain_low=0.0),
    function("sigmoid", nonneg=True),
    function("sin", lipschitz=1.0),
    function("cos", lipschitz=1.0),
)

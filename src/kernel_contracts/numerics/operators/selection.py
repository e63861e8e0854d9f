"""Choices and comparisons. Where the radius cannot decide, every answer that it admits is accepted."""

from __future__ import annotations

from typing import Any

import numpy as np

from kernel_contracts.errors import ArithmeticScopeError
from kernel_contracts.formats import BOOL, INT64, Format
from kernel_contracts.numerics.bounded import Array, BoundContext, Bounded
from kernel_contracts.numerics.dims import Dim, broadcast
from kernel_contracts.numerics.domains import FLOAT64, Domain
from kernel_contracts.numerics.operators.base import Attrs, Operator, axis_index, held
from kernel_contracts.numerics.operators.elementwise import integers
from kernel_contracts.numerics.program import Type


def comparison(name: str, symbol: str) -> Operator:
    def infer(types: list[Type], attrs: dict[str, Any], fmt: Format) -> Type:
        return Type(BOOL, broadcast(t.shape for t in types))

    def value(domain: Domain, attrs: Attrs, fmt: Format, args: list[Any]) -> Any:
        return domain.compare(symbol, args[0], args[1])

    def bound(context: BoundContext, attrs: Attrs, fmt: Format, args: list[Bounded]) -> Bounded:
        a, b = args
        v = value(FLOAT64, attrs, fmt, [a.v, b.v])
        if a.exact and b.exact:
            return Bounded(v)
        with np.errstate(invalid="ignore", over="ignore"):
            room = a.radius() + b.radius()
            close = (np.abs(np.asarray(a.v, dtype=np.float64) - b.v) <= room) & (room > 0) | np.isinf(room)
        return Bounded(v, np.where(close, np.inf, 0.0))

    return Operator(name, 2, infer, value, bound, computes=False)


def logic(name: str, arity: int) -> Operator:
    functions: dict[str, Any] = {"and": np.logical_and, "or": np.logical_or, "not": np.logical_not}

    def infer(types: list[Type], attrs: dict[str, Any], fmt: Format) -> Type:
        if any(t.kind != "bool" for t in types):
            raise ArithmeticScopeError(f"{name} joins truth values, not {' and '.join(str(t) for t in types)}")
        return Type(BOOL, broadcast(t.shape for t in types))

    def value(domain: Domain, attrs: Attrs, fmt: Format, args: list[Any]) -> Any:
        return functions[name](*args)

    def bound(context: BoundContext, attrs: Attrs, fmt: Format, args: list[Bounded]) -> Bounded:
        v = value(FLOAT64, attrs, fmt, [a.v for a in args])
        if all(a.exact for a in args):
            return Bounded(v)
        unsure = np.zeros(v.shape)
        for a in args:
            unsure = np.maximum(unsure, a.radius())
        return Bounded(v, unsure)

    return Operator(name, arity, infer, value, bound, computes=False)


def _where_infer(types: list[Type], attrs: dict[str, Any], fmt: Format) -> Type:
    if types[0].kind != "bool":
        raise ArithmeticScopeError(f"where asks a truth value first, not {types[0]}")
    return Type(held(types[1:]), broadcast(t.shape for t in types))


def _where(domain: Domain, attrs: Attrs, fmt: Format, args: list[Any]) -> Any:
    if integers(args[1:]):
        return np.where(*args)
    return np.where(args[0], domain.real(args[1]), domain.real(args[2]))


def _where_bound(context: BoundContext, attrs: Attrs, fmt: Format, args: list[Bounded]) -> Bounded:
    c, a, b = args
    v = _where(FLOAT64, attrs, fmt, [c.v, a.v, b.v])
    quantum = None if a.quantum is None or b.quantum is None else min(a.quantum, b.quantum)
    if c.exact and a.exact and b.exact:
        return Bounded(v, 0.0, a.nonneg and b.nonneg, quantum)
    e = np.where(c.v, a.radius(), b.radius())
    with np.errstate(invalid="ignore", over="ignore"):
        apart = np.where(np.asarray(a.v) == b.v, 0.0, np.abs(np.asarray(a.v, dtype=np.float64) - b.v))
        either = np.maximum(a.radius(), b.radius()) + apart
    e = np.where(np.broadcast_to(c.radius(), e.shape) > 0, either, e)
    # not `clean`: an infinity that another execution may not choose is not certain
    return Bounded(v, np.where(np.isnan(e), np.inf, e), a.nonneg and b.nonneg)


def _pick_infer(types: list[Type], attrs: dict[str, Any], fmt: Format) -> Type:
    return Type(held(types), broadcast(t.shape for t in types))


def pick(name: str, larger: bool) -> Operator:
    """maximum and minimum of two arrays."""

    def value(domain: Domain, attrs: Attrs, fmt: Format, args: list[Any]) -> Any:
        if integers(args):
            return np.maximum(*args) if larger else np.minimum(*args)
        if larger:
            return domain.larger(args[0], args[1])
        return -domain.larger(-domain.real(args[0]), -domain.real(args[1]))

    def bound(context: BoundContext, attrs: Attrs, fmt: Format, args: list[Bounded]) -> Bounded:
        a, b = args
        v = value(FLOAT64, attrs, fmt, [a.v, b.v])
        nonneg = (a.nonneg or b.nonneg) if larger else (a.nonneg and b.nonneg)
        quantum = None if a.quantum is None or b.quantum is None else min(a.quantum, b.quantum)
        if a.exact and b.exact:
            return Bounded(v, 0.0, nonneg or bool(larger and _never_negative(args)), quantum)
        # the loser does not matter where the intervals are apart
        winner = np.where(v == a.v, a.radius(), b.radius())
        with np.errstate(invalid="ignore", over="ignore"):
            apart = np.abs(np.asarray(a.v, dtype=np.float64) - b.v) > a.radius() + b.radius()
        e = np.where(apart, winner, np.maximum(a.radius(), b.radius()))
        return Bounded(v, e, nonneg or (larger and _never_negative(args)))

    return Operator(name, 2, _pick_infer, value, bound, computes=False)


def _never_negative(args: list[Bounded]) -> bool:
    return any(a.exact and a.v.size > 0 and bool(np.all(np.asarray(a.v) >= 0)) for a in args)


def reduced_shape(shape: tuple[Dim, ...], axes: tuple[int, ...], keep: bool) -> tuple[Dim, ...]:
    return tuple(1 if i in axes else d for i, d in enumerate(shape) if keep or i not in axes)


def _extreme_infer(types: list[Type], attrs: dict[str, Any], fmt: Format) -> Type:
    axes = attrs["axis"] = tuple(axis_index(types[0].rank, a) for a in attrs["axis"])
    return Type(types[0].format, reduced_shape(types[0].shape, axes, attrs["keep"]))


def extreme(name: str, larger: bool) -> Operator:
    """max and min over axes. The largest of intervals is as far off as the widest of them."""

    def value(domain: Domain, attrs: Attrs, fmt: Format, args: list[Any]) -> Any:
        x = args[0] if integers(args) else domain.real(args[0])
        how = np.max if larger else np.min
        return np.asarray(how(x, axis=attrs["axis"], keepdims=attrs["keep"]))

    def bound(context: BoundContext, attrs: Attrs, fmt: Format, args: list[Bounded]) -> Bounded:
        (x,) = args
        v = value(FLOAT64, attrs, fmt, [x.v])
        if x.exact:
            return Bounded(v, 0.0, x.nonneg, x.quantum)
        return Bounded(v, np.max(x.radius(), axis=attrs["axis"], keepdims=attrs["keep"]), x.nonneg)

    return Operator(name, 1, _extreme_infer, value, bound, computes=False)


def _arg_infer(types: list[Type], attrs: dict[str, Any], fmt: Format) -> Type:
    axes = attrs["axis"] = tuple(axis_index(types[0].rank, a) for a in attrs["axis"])
    if len(axes) != 1:
        raise ArithmeticScopeError("argmax and argmin take one axis")
    return Type(INT64, reduced_shape(types[0].shape, axes, attrs["keep"]))


def arg_extreme(name: str, larger: bool) -> Operator:
    """argmax and argmin: the first index on ties of exact numbers, any contender where the radius cannot tell."""

    def value(domain: Domain, attrs: Attrs, fmt: Format, args: list[Any]) -> Any:
        x = args[0] if integers(args) else domain.float64(args[0])[0]
        how = np.argmax if larger else np.argmin
        return np.asarray(how(x, axis=attrs["axis"][0], keepdims=attrs["keep"]), dtype=np.int64)

    def bound(context: BoundContext, attrs: Attrs, fmt: Format, args: list[Bounded]) -> Bounded:
        (x,) = args
        axis, keep = attrs["axis"][0], attrs["keep"]
        v = value(FLOAT64, attrs, fmt, [x.v])
        if x.exact:
            return Bounded(v)
        sign = 1.0 if larger else -1.0
        unknown = np.isinf(x.radius()) | np.isnan(x.v)
        with np.errstate(invalid="ignore", over="ignore"):
            least = np.where(unknown, -np.inf, sign * x.v - x.radius())
            low = np.max(least, axis=axis, keepdims=True)
            contender = unknown | (sign * x.v + x.radius() >= low)
        unsure = np.sum(contender, axis=axis, keepdims=keep) > 1

        def admissible(answer: Array) -> Array:
            index = np.clip(answer.astype(np.int64), 0, x.v.shape[axis] - 1)
            spread = index if keep else np.expand_dims(index, axis)
            ok = np.take_along_axis(contender, spread, axis)
            inside = (answer >= 0) & (answer < x.v.shape[axis])
            return np.asarray((ok if keep else np.squeeze(ok, axis)) & inside)

        return Bounded(v, np.where(unsure, np.inf, 0.0), admissible=admissible)

    return Operator(name, 1, _arg_infer, value, bound, computes=False)


OPERATORS = (
    comparison("less", "<"), comparison("less_equal", "<="), comparison("greater", ">"),
    comparison("greater_equal", ">="), comparison("equal", "=="), comparison("not_equal", "!="),
    logic("and", 2), logic("or", 2), logic("not", 1),
    Operator("where", 3, _where_infer, _where, _where_bound, computes=False),
    pick("maximum", True), pick("minimum", False), extreme("max", True), extreme("min", False),
    arg_extreme("argmax", True), arg_extreme("argmin", False),
)  # fmt: skip

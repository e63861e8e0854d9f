"""Sums and what is made of them: sum, mean, prod, var, cumsum, any, all.

Every bound here is the textbook one for its declared order: gamma_(depth) times the sum of magnitudes (Higham 2002,
section 4.2), and for the variance the larger of the two-pass and the updating (Welford) algorithm.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np

from kernel_contracts.errors import ArithmeticScopeError
from kernel_contracts.formats import BOOL, INT64, Format
from kernel_contracts.numerics.bounded import Array, BoundContext, Bounded, Radius, clean
from kernel_contracts.numerics.domains import FLOAT64, Domain
from kernel_contracts.numerics.operators.base import Attrs, EmulateContext, Operator, axis_index, need_real
from kernel_contracts.numerics.operators.elementwise import integers
from kernel_contracts.numerics.operators.selection import reduced_shape
from kernel_contracts.numerics.program import Type
from kernel_contracts.numerics.rounding import round_to
from kernel_contracts.numerics.summation import cumulative, sum_terms


def _infer(types: list[Type], attrs: dict[str, Any], fmt: Format) -> Type:
    need_real("a sum", types)
    axes = attrs["axis"] = tuple(axis_index(types[0].rank, a) for a in attrs["axis"])
    shape = reduced_shape(types[0].shape, axes, attrs["keep"])
    return Type(INT64 if types[0].kind == "int" else fmt, shape)


def _infer_real(types: list[Type], attrs: dict[str, Any], fmt: Format) -> Type:
    return Type(fmt, _infer(types, attrs, fmt).shape)


def count(x: Array, attrs: Attrs) -> int:
    """How many terms one result has."""
    return math.prod(x.shape[a] for a in attrs["axis"])


def terms_last(x: Array, axes: tuple[int, ...]) -> Array:
    """The reduced axes flattened into the last one, in index order."""
    rest = [i for i in range(x.ndim) if i not in axes]
    moved = np.transpose(x, rest + list(axes))
    return moved.reshape((*(x.shape[i] for i in rest), math.prod(x.shape[a] for a in axes)))


def _sum(domain: Domain, attrs: Attrs, fmt: Format, args: list[Any]) -> Any:
    x = args[0] if integers(args) else domain.real(args[0])
    with np.errstate(invalid="ignore", over="ignore"):
        return np.asarray(domain.sum(x, attrs["axis"], attrs["keep"]))


def sum_bound(context: BoundContext, attrs: Attrs, fmt: Format, args: list[Bounded]) -> Bounded:
    (x,) = args
    v = _sum(FLOAT64, attrs, fmt, [x.v])
    if v.dtype.kind in "iu":
        return Bounded(v, 0.0 if x.exact else np.sum(x.radius(), axis=attrs["axis"], keepdims=attrs["keep"]))
    with np.errstate(invalid="ignore", over="ignore"):
        total = np.sum(np.abs(x.v), axis=attrs["axis"], keepdims=attrs["keep"])
        carried: Radius = 0.0 if x.exact else np.sum(x.radius(), axis=attrs["axis"], keepdims=attrs["keep"])
        return summed(context, fmt, v, total + carried, carried, count(x.v, attrs), x, np.asarray(x.v))


def largest_partial(total: Array, v: Array) -> float:
    """The largest magnitude that any partial sum can reach, in any order: all positive or all negative terms alone."""
    return float(np.max((total + np.abs(v)) / 2, initial=0.0))


def summed(
    context: BoundContext, fmt: Format, v: Array, total: Array, carried: Radius, n: int, x: Bounded, terms: Array
) -> Bounded:
    """A sum of n terms whose magnitudes add up to `total`, done in `fmt` in the declared order."""
    if x.exact and context.unrounded(x.quantum, largest_partial(total, v), fmt):
        return Bounded(v, 0.0, x.nonneg, x.quantum)
    with np.errstate(invalid="ignore", over="ignore"):
        error = context.gamma(context.depth(n), fmt) * total + flushed_sums(context, n, fmt)
        return clean(v, carried, error, fmt, total + error, x.nonneg)


def flushed_sums(context: BoundContext, n: int, fmt: Format) -> float:
    """What flushing subnormal partial sums of n terms can lose; without it, sums underflow exactly."""
    return 2 * n * context.tiny(fmt) if context.flush else 0.0


def _sum_emulate(context: EmulateContext, attrs: Attrs, fmt: Format, args: list[Array]) -> Array:
    x = np.asarray(args[0])
    if x.dtype.kind in "iu":
        return np.asarray(_sum(FLOAT64, attrs, fmt, [x]))
    terms = round_to(terms_last(x, attrs["axis"]), fmt)
    return sum_terms(terms, fmt, context.order).reshape(
        tuple(1 if i in attrs["axis"] else d for i, d in enumerate(x.shape) if attrs["keep"] or i not in attrs["axis"])
    )


def _mean(domain: Domain, attrs: Attrs, fmt: Format, args: list[Any]) -> Any:
    n = count(np.asarray(args[0]), attrs)
    with np.errstate(invalid="ignore", divide="ignore", over="ignore"):
        return _sum(domain, attrs, fmt, [domain.real(args[0])]) / domain.real(np.float64(n))


def _mean_bound(context: BoundContext, attrs: Attrs, fmt: Format, args: list[Bounded]) -> Bounded:
    """A sum divided by the count, or a mean updated term by term: m += (x - m) / k.

    In the latter the error of step k is at most 3 u (|x_k| + |m_k|) / k and enters the result with weight k / n, where
    k |m_k| <= sum |x|: together gamma_(n+4) mean |x| at most. So even a mean of integers is not exact, unless the
    contract writes sum(x) / N.
    """
    n = count(args[0].v, attrs)
    x = args[0]
    center = FLOAT64.real(x.v)
    how = {"axis": attrs["axis"], "keepdims": attrs["keep"]}
    with np.errstate(invalid="ignore", divide="ignore", over="ignore"):
        v = _mean(FLOAT64, attrs, fmt, [center])
        carried: Radius = 0.0 if x.exact else np.sum(x.radius(), **how) / n
        total = np.sum(np.abs(center), **how)
        size = total / n + carried
        # dividing by the count or multiplying with its reciprocal, the count itself rounded where it is large
        lost = (4 if context.flush else 2) * context.tiny(fmt)
        error = np.asarray(context.gamma(context.depth(n) + 5, fmt) * size + lost)
        return clean(v, carried, error, fmt, np.asarray(total + n * (carried + error)), x.nonneg)


def _mean_emulate(context: EmulateContext, attrs: Attrs, fmt: Format, args: list[Array]) -> Array:
    n = count(args[0], attrs)
    total = _sum_emulate(context, attrs, fmt, [np.asarray(args[0], dtype=np.float64)])
    with np.errstate(invalid="ignore", divide="ignore"):
        held = round_to(np.float64(n), fmt)
        return round_to(total / (held if np.isfinite(held) else np.float64(n)), fmt)


def _prod(domain: Domain, attrs: Attrs, fmt: Format, args: list[Any]) -> Any:
    x = args[0] if integers(args) else domain.real(args[0])
    with np.errstate(invalid="ignore", over="ignore", under="ignore"):
        return np.asarray(np.multiply.reduce(x, axis=attrs["axis"], keepdims=attrs["keep"]))


def _prod_bound(context: BoundContext, attrs: Attrs, fmt: Format, args: list[Bounded]) -> Bounded:
    (x,) = args
    v = _prod(FLOAT64, attrs, fmt, [x.v])
    if v.dtype.kind in "iu":
        return Bounded(v)
    how = {"axis": attrs["axis"], "keepdims": attrs["keep"]}
    n = count(x.v, attrs)
    with np.errstate(invalid="ignore", over="ignore", under="ignore"):
        size = np.abs(x.v) + x.e
        magnitude = np.prod(size, **how)
        # an underflow of a partial product is blown up by the factors still to come, an overflow outlasts them
        rest = np.prod(np.maximum(size, 1.0), **how)
        gamma = context.gamma(n, fmt)
        # the difference of two products is itself computed: a roundoff of float64 for each factor of both
        carried: Radius = 0.0 if x.exact else magnitude - np.abs(v) + magnitude * (2 * n * FLOAT64.u)
        error = gamma * magnitude + n * context.tiny(fmt) * rest * (1 + min(gamma, 1.0))
        out = clean(v, carried, error, fmt, np.asarray(rest * (1 + gamma)), x.nonneg)
        # an infinite float64 product of finite factors only says that some order overflows
        return replace(out, e=np.where(np.isinf(rest) & np.isfinite(size).all(**how), np.inf, out.e))


def _prod_emulate(context: EmulateContext, attrs: Attrs, fmt: Format, args: list[Array]) -> Array:
    terms = terms_last(np.asarray(args[0], dtype=np.float64), attrs["axis"])
    out = np.ones(terms.shape[:-1])
    with np.errstate(over="ignore", invalid="ignore"):
        for k in range(terms.shape[-1]):
            out = round_to(out * terms[..., k], fmt)
    x = np.asarray(args[0])
    return out.reshape(_prod(FLOAT64, attrs, fmt, [x]).shape)


def _var(domain: Domain, attrs: Attrs, fmt: Format, args: list[Any]) -> Any:
    x = domain.real(args[0])
    n = count(x, attrs)
    how = {"axis": attrs["axis"], "keep": True}
    with np.errstate(invalid="ignore", divide="ignore", over="ignore"):
        d = x - _mean(domain, how, fmt, [x])
        d = d - _mean(domain, how, fmt, [d])
        total = _sum(domain, attrs, fmt, [d * d])
        return total / domain.real(np.float64(n - attrs["correction"]))


def _var_bound(context: BoundContext, attrs: Attrs, fmt: Format, args: list[Bounded]) -> Bounded:
    """Two-pass: the rounded mean is off by delta, which enters squared because deviations sum to zero.

    |error| <= delta^2 + gamma (var + 2 delta sqrt(var) + delta^2); an updating algorithm may reach
    gamma sqrt(mean x^2) sqrt(var) (Chan, Golub and LeVeque 1983, table 1), which is added. Input radii enter with
    weight 2 |d| / n. Both are far below what E[x^2] - E[x]^2 needs: gamma mean(x^2).
    """
    (x,) = args
    center = FLOAT64.real(x.v)
    v = _var(FLOAT64, attrs, fmt, [center])
    n = count(center, attrs)
    how = {"axis": attrs["axis"], "keepdims": attrs["keep"]}
    with np.errstate(invalid="ignore", divide="ignore", over="ignore"):
        radius = x.radius()
        gamma = context.gamma(context.depth(n) + 5, fmt)
        scale = n / (n - attrs["correction"]) if n > attrs["correction"] else math.inf
        size = np.mean(np.abs(center) + radius, **how)
        delta = gamma * size + 2 * context.tiny(fmt)
        moved: Radius = 0.0
        if not x.exact:
            deviation = np.abs(center - np.mean(center, axis=attrs["axis"], keepdims=True))
            shift = radius + np.mean(radius, axis=attrs["axis"], keepdims=True)
            moved = np.mean((2 * deviation + shift) * shift, **how)
        spread = (v / scale if scale < math.inf else v) + moved
        root = np.sqrt(np.maximum(spread, 0.0))
        square = np.mean((np.abs(center) + radius) ** 2, **how)
        error = scale * (delta**2 + gamma * (spread + 2 * delta * root + delta**2 + np.sqrt(square) * root))
        error = error + context.gamma(2, fmt) * v
        # each square may underflow, each sum too where subnormals are flushed, and the division at the end
        error = error + (4 * scale * (1 + min(gamma, 1.0)) + 4) * context.tiny(fmt) * (1 + size)
        largest = np.maximum(square + delta**2, size) * max(n, 1) * (1 + gamma) + error
        return clean(v, scale * moved, error, fmt, np.asarray(largest * max(scale, 1.0)), True)


def _var_emulate(context: EmulateContext, attrs: Attrs, fmt: Format, args: list[Array]) -> Array:
    x = np.asarray(args[0], dtype=np.float64)
    n = count(x, attrs)
    how = {"axis": attrs["axis"], "keep": True}
    with np.errstate(invalid="ignore", divide="ignore", over="ignore"):
        d = round_to(x - _mean_emulate(context, how, fmt, [x]), fmt)
        total = _sum_emulate(context, attrs, fmt, [round_to(d * d, fmt)])
        return round_to(total / np.float64(n - attrs["correction"]), fmt)


def _cumsum_infer(types: list[Type], attrs: dict[str, Any], fmt: Format) -> Type:
    need_real("cumsum", types)
    attrs["axis"] = tuple(axis_index(types[0].rank, a) for a in attrs["axis"])
    if len(attrs["axis"]) != 1:
        raise ArithmeticScopeError("cumsum takes one axis")
    return Type(INT64 if types[0].kind == "int" else fmt, types[0].shape)


def _cumsum(domain: Domain, attrs: Attrs, fmt: Format, args: list[Any]) -> Any:
    x = args[0] if integers(args) else domain.real(args[0])
    with np.errstate(invalid="ignore", over="ignore"):
        return np.asarray(np.add.accumulate(x, axis=attrs["axis"][0])) if x.size else x


def _cumsum_bound(context: BoundContext, attrs: Attrs, fmt: Format, args: list[Bounded]) -> Bounded:
    (x,) = args
    axis = attrs["axis"][0]
    v = _cumsum(FLOAT64, attrs, fmt, [x.v])
    if v.dtype.kind in "iu" or v.size == 0:
        return Bounded(v)
    with np.errstate(invalid="ignore", over="ignore"):
        carried: Radius = 0.0 if x.exact else np.add.accumulate(x.radius(), axis=axis)
        total = np.add.accumulate(np.abs(x.v), axis=axis) + carried
        n = v.shape[axis]
        if x.exact and context.unrounded(x.quantum, float(np.max(total, initial=0.0)), fmt):
            return Bounded(v, 0.0, x.nonneg, x.quantum)
        # a parallel scan may pass through up to 2 log n more additions than the prefix has terms
        extra = 2 * math.ceil(math.log2(n)) if n > 1 else 0
        # chunks are those of the whole axis, so a short prefix may be as deep as it has terms
        steps = np.array([context.gamma(min(k, context.depth(n)) + extra, fmt) for k in range(n)])
        shape = [1] * v.ndim
        shape[axis] = n
        error = steps.reshape(shape) * total + flushed_sums(context, n, fmt)
        return clean(v, carried, error, fmt, total + error, x.nonneg)


def _cumsum_emulate(context: EmulateContext, attrs: Attrs, fmt: Format, args: list[Array]) -> Array:
    x = np.asarray(args[0])
    if x.dtype.kind in "iu" or x.size == 0:
        return np.asarray(_cumsum(FLOAT64, attrs, fmt, [x]))
    moved = round_to(np.moveaxis(x, attrs["axis"][0], -1), fmt)
    return np.moveaxis(cumulative(moved, fmt, context.order), -1, attrs["axis"][0])


def truth(name: str) -> Operator:
    how = np.any if name == "any" else np.all

    def infer(types: list[Type], attrs: dict[str, Any], fmt: Format) -> Type:
        if types[0].kind != "bool":
            raise ArithmeticScopeError(f"{name} joins truth values, not {types[0]}")
        attrs["axis"] = tuple(axis_index(types[0].rank, a) for a in attrs["axis"])
        return Type(BOOL, reduced_shape(types[0].shape, attrs["axis"], attrs["keep"]))

    def value(domain: Domain, attrs: Attrs, fmt: Format, args: list[Any]) -> Any:
        return np.asarray(how(args[0], axis=attrs["axis"], keepdims=attrs["keep"]))

    def bound(context: BoundContext, attrs: Attrs, fmt: Format, args: list[Bounded]) -> Bounded:
        v = value(FLOAT64, attrs, fmt, [args[0].v])
        if args[0].exact:
            return Bounded(v)
        how = {"axis": attrs["axis"], "keepdims": attrs["keep"]}
        sure = (args[0].radius() == 0) & (args[0].v == (name == "any"))  # one such member settles it
        return Bounded(v, np.where(np.any(sure, **how), 0.0, np.max(args[0].radius(), initial=0.0, **how)))

    return Operator(name, 1, infer, value, bound, computes=False)


OPERATORS = (
    Operator("sum", 1, _infer, _sum, sum_bound, _sum_emulate, sums=True),
    Operator("mean", 1, _infer_real, _mean, _mean_bound, _mean_emulate, sums=True),
    Operator("prod", 1, _infer, _prod, _prod_bound, _prod_emulate),
    Operator("var", 1, _infer_real, _var, _var_bound, _var_emulate, sums=True),
    Operator("cumsum", 1, _cumsum_infer, _cumsum, _cumsum_bound, _cumsum_emulate, sums=True),
    truth("any"), truth("all"),
)  # fmt: skip

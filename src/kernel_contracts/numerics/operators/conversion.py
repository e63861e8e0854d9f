"""Changes of number format: a mandated rounding, a permitted one, and casts.

`round(x, P)` is part of the claim: the oracle rounds too, so a kernel that skips it is wrong. `at_least(x, P)` says
that an intermediate may be held in P: the oracle keeps it exact and the tolerance pays for one rounding.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from kernel_contracts.errors import ArithmeticScopeError
from kernel_contracts.formats import Format
from kernel_contracts.numerics.bounded import Array, BoundContext, Bounded, clean, quantum_of
from kernel_contracts.numerics.domains import FLOAT64, Domain
from kernel_contracts.numerics.operators.base import Attrs, EmulateContext, Operator, holds_all, need_real
from kernel_contracts.numerics.program import Type
from kernel_contracts.numerics.rounding import round_to, ulp_of


def _round_infer(types: list[Type], attrs: dict[str, Any], fmt: Format) -> Type:
    need_real("round", types)
    target: Format = attrs["format"]
    if target.kind != "real":
        raise ArithmeticScopeError(
            f"round goes to a real format; write cast(x, {target}) for integers and truth values"
        )
    attrs["source"] = types[0].format
    return Type(target, types[0].shape)


def held_already(attrs: Attrs) -> bool:
    """A computed value of this very format (or a narrower one) is what it is: rounding it again changes nothing."""
    return holds_all(attrs["format"], attrs["source"])


def _round(domain: Domain, attrs: Attrs, fmt: Format, args: list[Any]) -> Any:
    x = domain.real(args[0])
    return x if held_already(attrs) else domain.round(x, attrs["format"])


def _round_bound(context: BoundContext, attrs: Attrs, fmt: Format, args: list[Bounded]) -> Bounded:
    """The image of the interval: rounding is monotone, so the rounded ends enclose every rounded member."""
    (x,) = args
    if held_already(attrs):
        return Bounded(FLOAT64.real(x.v), x.e, x.nonneg, x.quantum)
    target: Format = attrs["format"]
    center = FLOAT64.real(x.v)
    v = round_to(center, target)
    if x.exact:
        return Bounded(v, 0.0, x.nonneg, quantum_of(v))
    with np.errstate(invalid="ignore", over="ignore"):
        e = np.maximum(round_to(center + x.e, target) - v, v - round_to(center - x.e, target))
        e = np.where(np.isinf(center) & np.isfinite(x.radius()), 0.0, e)
        made = clean(v, e, 0.0, target, np.abs(center) + x.radius(), x.nonneg)
        if context.overflows and target.overflow == "inf":
            sure = np.abs(center) - x.radius() >= target.overflow_threshold
            made = Bounded(v, np.where(sure, 0.0, made.e), x.nonneg) if sure.any() else made
        return made


def _round_emulate(context: EmulateContext, attrs: Attrs, fmt: Format, args: list[Array]) -> Array:
    out = round_to(args[0], attrs["format"])
    if attrs.get("mode") == "truncate":  # a wrong kernel's rounding; no contract declares it
        too_far = np.abs(out) > np.abs(args[0])
        back = np.nextafter(np.abs(out), 0.0)
        step = ulp_of(back, attrs["format"])
        out = np.where(too_far, np.copysign(np.floor(back / step) * step, out), out)
    return out


def _at_least_infer(types: list[Type], attrs: dict[str, Any], fmt: Format) -> Type:
    need_real("at_least", types)
    return types[0]


def _same(domain: Domain, attrs: Attrs, fmt: Format, args: list[Any]) -> Any:
    return domain.real(args[0])


def _at_least_bound(context: BoundContext, attrs: Attrs, fmt: Format, args: list[Bounded]) -> Bounded:
    (x,) = args
    return context.rounded(FLOAT64.real(x.v), x.e, attrs["format"], quantum=x.quantum, nonneg=x.nonneg)


def _at_least_emulate(context: EmulateContext, attrs: Attrs, fmt: Format, args: list[Array]) -> Array:
    return round_to(args[0], attrs["format"]) if context.carry else np.asarray(args[0])


def _cast_infer(types: list[Type], attrs: dict[str, Any], fmt: Format) -> Type:
    attrs["source"] = types[0].format
    return Type(attrs["format"], types[0].shape)


def _cast(domain: Domain, attrs: Attrs, fmt: Format, args: list[Any]) -> Any:
    target: Format = attrs["format"]
    if target.kind == "bool":
        return domain.compare("!=", args[0], 0)
    if target.kind == "real":
        x = np.asarray(args[0]).astype(np.int64) if attrs["source"].kind == "bool" else args[0]
        return _round(domain, attrs, fmt, [x])
    x = np.asarray(args[0])
    if x.dtype.kind in "iub":
        return _wrapped(x.astype(np.int64), target)
    high = domain.float64(args[0])[0]
    with np.errstate(invalid="ignore"):
        return _wrapped(np.where(np.isfinite(high), np.trunc(high), 0.0).astype(np.int64), target)


def _wrapped(x: Array, target: Format) -> Array:
    """Two's complement: the value modulo 2^bits."""
    if target.bits >= 64:
        return x
    span = 1 << target.bits
    out = np.mod(x, span)
    return np.where(out > target.max_int, out - span, out)


def _cast_bound(context: BoundContext, attrs: Attrs, fmt: Format, args: list[Bounded]) -> Bounded:
    target: Format = attrs["format"]
    if target.kind == "real" and attrs["source"].kind == "real":
        return _round_bound(context, attrs, fmt, args)
    v = np.asarray(_cast(FLOAT64, attrs, fmt, [args[0].v]))
    if target.kind == "real":
        return Bounded(v, 0.0 if args[0].exact else args[0].radius(), quantum=1.0)
    if args[0].exact:
        return Bounded(v)
    with np.errstate(invalid="ignore", over="ignore"):
        low, high = args[0].v - args[0].radius(), args[0].v + args[0].radius()
    if target.kind == "bool":
        sure = (args[0].radius() == 0) | (low > 0) | (high < 0)
    else:
        sure = (np.trunc(low) == np.trunc(high)) & np.isfinite(args[0].radius())
    return Bounded(v, np.where(sure, 0.0, np.inf))


def _cast_emulate(context: EmulateContext, attrs: Attrs, fmt: Format, args: list[Array]) -> Array:
    return np.asarray(_cast(FLOAT64, attrs, fmt, list(args)))


OPERATORS = (
    Operator("round", 1, _round_infer, _round, _round_bound, _round_emulate, computes=False),
    Operator("at_least", 1, _at_least_infer, _same, _at_least_bound, _at_least_emulate, computes=False),
    Operator("cast", 1, _cast_infer, _cast, _cast_bound, _cast_emulate, computes=False),
)

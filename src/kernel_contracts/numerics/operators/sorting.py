"""Sorting: sort(x) and argsort(x), or the first few of either, which is what top-k means.

NaN counts as larger than every number, or as smaller where `nan = smallest`. Among equal elements the one of the first
index comes first, or the last one, or with `ties = any` whichever the kernel likes. Where the radius cannot order two
elements, every order that it admits is accepted: each index may stand wherever its rank can be, and only once.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from kernel_contracts.errors import ArithmeticScopeError
from kernel_contracts.formats import INT64, Format
from kernel_contracts.numerics.bounded import Array, BoundContext, Bounded
from kernel_contracts.numerics.domains import FLOAT64, Domain
from kernel_contracts.numerics.operators.base import Attrs, EmulateContext, Operator, axis_index, need_real
from kernel_contracts.numerics.operators.elementwise import integers
from kernel_contracts.numerics.program import Type

TIES = ("first", "last", "any")
"""Which of several equal elements comes first."""
NAN = ("largest", "smallest")
"""Where NaN stands among the numbers."""


def _infer(types: list[Type], attrs: dict[str, Any], fmt: Format) -> Type:
    need_real("sort", types)
    x = types[0]
    axis = attrs["axis"] = axis_index(x.rank, attrs.get("axis", -1))
    attrs.setdefault("descending", False)
    attrs.setdefault("size", None)
    for name, allowed in (("ties", TIES), ("nan", NAN)):
        if attrs.setdefault(name, allowed[0]) not in allowed:
            raise ArithmeticScopeError(f"sort knows {name} = {' or '.join(allowed)}, not {attrs[name]}")
    kept = x.shape[axis] if attrs["size"] is None else attrs["size"]
    return Type(x.format, tuple(kept if i == axis else d for i, d in enumerate(x.shape)))


def _infer_index(types: list[Type], attrs: dict[str, Any], fmt: Format) -> Type:
    return Type(INT64, _infer(types, attrs, fmt).shape)


def _keys(domain: Domain, attrs: Attrs, x: Any) -> list[Array]:
    """What is compared, the most significant key last: whether it is NaN, the number, and what float64 leaves of it."""
    high, low = (np.asarray(x), np.zeros(np.shape(x))) if integers([x]) else domain.float64(x)
    number = ~np.isnan(high) if attrs["nan"] == "smallest" else np.isnan(high)
    return [np.asarray(low), np.where(np.isnan(high), 0.0, high) if high.dtype.kind == "f" else high, number]


def _ranking(attrs: Attrs, keys: list[Array], ties: str) -> Array:
    """All indices along the axis in the order asked for; `ties` is first or last."""
    axis, size = attrs["axis"], keys[0].shape[attrs["axis"]]
    backwards = (ties == "last") != attrs["descending"]  # a stable sort of the reversed array, which is then undone
    if backwards:
        keys = [np.flip(k, axis) for k in keys]
    found = np.lexsort(keys, axis=axis)
    found = size - 1 - found if backwards else found
    return np.asarray(np.flip(found, axis) if attrs["descending"] else found, dtype=np.int64)


def _first(attrs: Attrs, x: Array) -> Array:
    """The first `size` elements along the axis. Raises ArithmeticScopeError where there are fewer."""
    size, axis = attrs["size"], attrs["axis"]
    if size is None:
        return x
    if not 0 <= size <= x.shape[axis]:
        raise ArithmeticScopeError(f"the reference takes {size} of {x.shape[axis]} sorted elements")
    return np.take(x, np.arange(size), axis=axis)


def _order(domain: Domain, attrs: Attrs, x: Any) -> Array:
    ties = "first" if attrs["ties"] == "any" else attrs["ties"]
    return _ranking(attrs, _keys(domain, attrs, x), ties)


def _sort(domain: Domain, attrs: Attrs, fmt: Format, args: list[Any]) -> Any:
    x = args[0] if integers(args) else domain.real(args[0])
    return np.take_along_axis(x, _first(attrs, _order(domain, attrs, x)), attrs["axis"])


def _sort_bound(context: BoundContext, attrs: Attrs, fmt: Format, args: list[Bounded]) -> Bounded:
    """The k-th smallest number moves by no more than the one that moves most."""
    (x,) = args
    v = _sort(FLOAT64, attrs, fmt, [x.v])
    if x.exact:
        return Bounded(v, 0.0, x.nonneg, x.quantum)
    widest = np.max(x.radius(), axis=attrs["axis"], keepdims=True, initial=0.0)
    return Bounded(v, np.array(np.broadcast_to(widest, v.shape)), x.nonneg)


def _argsort(domain: Domain, attrs: Attrs, fmt: Format, args: list[Any]) -> Any:
    return _first(attrs, _order(domain, attrs, args[0]))


def _ranks(attrs: Attrs, x: Bounded) -> tuple[Array, Array]:
    """For each element the first and the last place where it may stand."""
    center, radius = np.asarray(x.v, dtype=np.float64), x.radius()
    unknown = np.isinf(radius)
    with np.errstate(invalid="ignore", over="ignore"):
        # outwards: the ends are computed
        low = np.where(radius > 0, np.nextafter(center - radius, -np.inf), center)
        high = np.where(radius > 0, np.nextafter(center + radius, np.inf), center)
    least, most = (-np.inf, np.nan) if attrs["nan"] == "largest" else (np.nan, np.inf)
    low, high = np.where(unknown, least, low), np.where(unknown, most, high)
    low, high = (_places(attrs, np.moveaxis(a, attrs["axis"], -1)) for a in (low, high))
    rows, n = math.prod(low.shape[:-1]), low.shape[-1]
    flat_low, flat_high = low.reshape((rows, n)), high.reshape((rows, n))
    before = np.empty(flat_low.shape, dtype=np.int64)
    upto = np.empty(flat_low.shape, dtype=np.int64)
    for row, (a, b) in enumerate(zip(flat_low, flat_high, strict=True)):
        before[row] = np.searchsorted(np.sort(b), a, "left")
        upto[row] = np.searchsorted(np.sort(a), b, "right") - 1
    if attrs["descending"]:
        before, upto = n - 1 - upto, n - 1 - before
    back = [np.moveaxis(r.reshape(low.shape), -1, attrs["axis"]) for r in (before, upto)]
    return back[0], back[1]


def _places(attrs: Attrs, x: Array) -> Array:
    """Numbers in whose usual order NaN stands where the sort puts it."""
    if attrs["nan"] == "largest":
        return x  # where NumPy sorts it too
    # infinities and NaN move up by one step of the extended order
    return np.where(np.isnan(x), -np.inf, np.where(np.isneginf(x), -np.finfo(np.float64).max, x))


def _argsort_bound(context: BoundContext, attrs: Attrs, fmt: Format, args: list[Bounded]) -> Bounded:
    (x,) = args
    v = _argsort(FLOAT64, attrs, fmt, [x.v])
    if x.exact and attrs["ties"] != "any":
        return Bounded(v)
    axis = attrs["axis"]
    first, last = _ranks(attrs, x)
    unsure = np.take_along_axis(first, v, axis) < np.take_along_axis(last, v, axis)
    shape = [1] * v.ndim
    shape[axis] = v.shape[axis]
    place = np.arange(v.shape[axis]).reshape(shape)

    def admissible(answer: Array) -> Array:
        index = np.clip(answer.astype(np.int64), 0, max(x.v.shape[axis] - 1, 0))
        ok = (np.take_along_axis(first, index, axis) <= place) & (place <= np.take_along_axis(last, index, axis))
        return np.asarray(ok & (answer == index) & ~_repeated(answer, axis))

    return Bounded(v, np.where(unsure, np.inf, 0.0), admissible=admissible)


def _repeated(x: Array, axis: int) -> Array:
    """Elements whose value stands more than once along the axis."""
    order = np.argsort(x, axis=axis, kind="stable")
    ranked = np.take_along_axis(x, order, axis)
    same = np.diff(ranked, axis=axis) == 0
    edge = np.zeros_like(np.take(ranked, [0], axis=axis), dtype=bool) if ranked.shape[axis] else same
    twice = np.concatenate([edge, same], axis=axis) | np.concatenate([same, edge], axis=axis) if same.size else edge
    out = np.zeros(x.shape, dtype=bool)
    np.put_along_axis(out, order, np.broadcast_to(twice, x.shape), axis)
    return out


def _argsort_emulate(context: EmulateContext, attrs: Attrs, fmt: Format, args: list[Array]) -> Array:
    """Ties that are open fall at random, as those of a sort that is not stable."""
    keys = _keys(FLOAT64, attrs, args[0])
    if attrs["ties"] == "any" and context.rng is not None:
        keys = [context.rng.random(np.shape(args[0])), *keys]
    return _first(attrs, _ranking(attrs, keys, "last" if attrs["ties"] == "last" else "first"))


OPERATORS = (
    Operator("sort", 1, _infer, _sort, _sort_bound, computes=False),
    Operator("argsort", 1, _infer_index, _argsort, _argsort_bound, _argsort_emulate, computes=False),
)

"""Operations that move elements and compute nothing: radius and quantum travel with the value."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from kernel_contracts.errors import ArithmeticScopeError
from kernel_contracts.formats import FP64, INT64, Format
from kernel_contracts.numerics.bounded import Array, BoundContext, Bounded
from kernel_contracts.numerics.dims import Dim, broadcast, equal, make, product, shape_text, text
from kernel_contracts.numerics.domains import Domain
from kernel_contracts.numerics.operators.base import Attrs, EmulateContext, Infer, Operator, axis_index, held
from kernel_contracts.numerics.program import Type
from kernel_contracts.numerics.rounding import round_to

Move = Callable[[Attrs, list[Any]], Any]


def movement(
    name: str, arity: int | None, infer: Infer, move: Move, *, indices: int = 0, fills: bool = False
) -> Operator:
    """An operator given by what it does to any array. The last `indices` operands steer it and carry no radius.

    `fills` says that zeros (or the attribute `value`) may appear that are in no operand.
    """

    def split(args: list[Any]) -> tuple[list[Any], list[Any]]:
        return (args[: len(args) - indices], args[len(args) - indices :]) if indices else (args, [])

    def value(domain: Domain, attrs: Attrs, fmt: Format, args: list[Any]) -> Any:
        data, steer = split(args)
        if any(np.asarray(d).dtype.kind in "fO" for d in data):
            data = [domain.real(d) for d in data]
        return move(attrs, [*data, *steer])

    def bound(context: BoundContext, attrs: Attrs, fmt: Format, args: list[Bounded]) -> Bounded:
        data, steer = split(args)
        v = np.asarray(move(attrs, [*[d.v for d in data], *[s.v for s in steer]]))
        filled = attrs.get("value", 0.0) if fills else 0.0
        grids = [d.quantum for d in data]
        quantum = None if any(q is None for q in grids) else min((q for q in grids if q is not None), default=None)
        nonneg = all(d.nonneg for d in data) and filled >= 0
        if all(d.exact for d in data) and all(s.exact for s in steer):
            return Bounded(v, 0.0, nonneg, quantum if filled == 0.0 else None)
        without = {**attrs, "value": 0.0} if fills else attrs
        e = np.asarray(move(without, [*[np.array(d.radius()) for d in data], *[s.v for s in steer]]))
        if not all(s.exact for s in steer):
            e = np.full(e.shape, np.inf)
        return Bounded(v, e, nonneg)

    def emulate(context: EmulateContext, attrs: Attrs, fmt: Format, args: list[Array]) -> Array:
        return np.asarray(move(attrs, list(args)))

    return Operator(name, arity, infer, value, bound, emulate, computes=False)


def _reshape_infer(types: list[Type], attrs: dict[str, Any], fmt: Format) -> Type:
    shape: tuple[Dim, ...] = tuple(attrs["shape"])
    if not equal(product(types[0].shape), product(shape)):
        raise ArithmeticScopeError(
            f"reshape of {shape_text(types[0].shape)} to {shape_text(shape)} changes the number of elements: "
            f"{text(product(types[0].shape))} against {text(product(shape))}"
        )
    return Type(types[0].format, shape)


def _transpose_infer(types: list[Type], attrs: dict[str, Any], fmt: Format) -> Type:
    rank = types[0].rank
    axes = attrs.get("axes")
    if axes is None:
        if rank < 2:
            raise ArithmeticScopeError(f"transpose needs two dimensions, not {types[0]}")
        axes = (*range(rank - 2), rank - 1, rank - 2)
    axes = attrs["axes"] = tuple(axis_index(rank, a) for a in axes)
    if sorted(axes) != list(range(rank)):
        raise ArithmeticScopeError(f"transpose of {types[0]} needs each of its {rank} axes once, not {list(axes)}")
    return Type(types[0].format, tuple(types[0].shape[a] for a in axes))


def _concat_infer(types: list[Type], attrs: dict[str, Any], fmt: Format) -> Type:
    axis = attrs["axis"] = axis_index(types[0].rank, attrs["axis"])
    size: Dim = 0
    for t in types:
        others = [(a, b) for i, (a, b) in enumerate(zip(t.shape, types[0].shape, strict=True)) if i != axis]
        if not all(equal(a, b) for a, b in others):
            raise ArithmeticScopeError(f"concat on axis {axis} needs equal other sizes: {types[0]} and {t}")
        size = make("+", size, t.shape[axis])
    return Type(held(types), tuple(size if i == axis else d for i, d in enumerate(types[0].shape)))


def _slice_infer(types: list[Type], attrs: dict[str, Any], fmt: Format) -> Type:
    axis = attrs["axis"] = axis_index(types[0].rank, attrs["axis"])
    stop = attrs["stop"] = types[0].shape[axis] if attrs["stop"] is None else attrs["stop"]
    length = make("-", stop, attrs["start"])
    step = attrs["step"]
    if step != 1:
        length = make("//", make("+", length, make("-", step, 1)), step)
    return Type(types[0].format, tuple(length if i == axis else d for i, d in enumerate(types[0].shape)))


def _slice(attrs: Attrs, args: list[Any]) -> Any:
    x = args[0]
    index = [slice(None)] * x.ndim
    index[attrs["axis"]] = slice(attrs["start"], attrs["stop"], attrs["step"])
    return x[tuple(index)]


def _pad_infer(types: list[Type], attrs: dict[str, Any], fmt: Format) -> Type:
    axis = attrs["axis"] = axis_index(types[0].rank, attrs["axis"])
    if types[0].kind == "real":  # the new elements lie in an array of this format
        attrs["value"] = float(round_to(attrs["value"], types[0].format))
    size = make("+", make("+", types[0].shape[axis], attrs["before"]), attrs["after"])
    return Type(types[0].format, tuple(size if i == axis else d for i, d in enumerate(types[0].shape)))


def _pad(attrs: Attrs, args: list[Any]) -> Any:
    x = args[0]
    shape = list(x.shape)
    shape[attrs["axis"]] += attrs["before"] + attrs["after"]
    out = np.empty(shape, dtype=x.dtype)
    out[...] = attrs["value"]
    index = [slice(None)] * x.ndim
    index[attrs["axis"]] = slice(attrs["before"], attrs["before"] + x.shape[attrs["axis"]])
    out[tuple(index)] = x
    return out


def _broadcast_infer(types: list[Type], attrs: dict[str, Any], fmt: Format) -> Type:
    shape: tuple[Dim, ...] = tuple(attrs["shape"])
    joined = broadcast([types[0].shape, shape])
    if len(joined) != len(shape) or not all(equal(a, b) for a, b in zip(joined, shape, strict=True)):
        raise ArithmeticScopeError(f"broadcast of {types[0]} to {shape_text(shape)} would drop or shrink a dimension")
    return Type(types[0].format, shape)


def _expand_infer(types: list[Type], attrs: dict[str, Any], fmt: Format) -> Type:
    axis = attrs["axis"] = axis_index(types[0].rank + 1, attrs["axis"])
    shape = list(types[0].shape)
    shape.insert(axis, 1)
    return Type(types[0].format, tuple(shape))


def _flip_infer(types: list[Type], attrs: dict[str, Any], fmt: Format) -> Type:
    attrs["axis"] = axis_index(types[0].rank, attrs["axis"])
    return types[0]


def _windows_infer(types: list[Type], attrs: dict[str, Any], fmt: Format) -> Type:
    """windows(x, axis, size, stride, dilation): each window along `axis` becomes a new last axis."""
    axis = attrs["axis"] = axis_index(types[0].rank, attrs["axis"])
    span = make("+", make("*", make("-", attrs["size"], 1), attrs["dilation"]), 1)
    count = make("+", make("//", make("-", types[0].shape[axis], span), attrs["stride"]), 1)
    shape = tuple(count if i == axis else d for i, d in enumerate(types[0].shape))
    return Type(types[0].format, (*shape, attrs["size"]))


def _windows(attrs: Attrs, args: list[Any]) -> Any:
    x, axis = args[0], attrs["axis"]
    span = (attrs["size"] - 1) * attrs["dilation"] + 1
    if x.shape[axis] < span:
        shape = list(x.shape)
        shape[axis] = max((x.shape[axis] - span) // attrs["stride"] + 1, 0)
        return np.zeros((*shape, attrs["size"]), dtype=x.dtype)
    view = np.lib.stride_tricks.sliding_window_view(x, span, axis=axis)
    index: list[Any] = [slice(None)] * view.ndim
    index[axis] = slice(None, None, attrs["stride"])
    index[-1] = slice(None, None, attrs["dilation"])
    return view[tuple(index)]


def _gather_infer(types: list[Type], attrs: dict[str, Any], fmt: Format) -> Type:
    x, index = types
    if index.kind != "int":
        raise ArithmeticScopeError(f"gather needs integer indices, not {index}")
    axis = attrs["axis"] = axis_index(x.rank, attrs["axis"])
    return Type(x.format, (*x.shape[:axis], *index.shape, *x.shape[axis + 1 :]))


def _gather(attrs: Attrs, args: list[Any]) -> Any:
    return np.take(args[0], _checked(args[1], args[0].shape[attrs["axis"]]), axis=attrs["axis"])


def _checked(index: Any, size: int) -> Any:
    """Indices of the reference are inside; what a kernel does outside is another class's business."""
    if index.size and (index.min() < 0 or index.max() >= size):
        low, high = int(index.min()), int(index.max())
        raise ArithmeticScopeError(f"the reference reads index {low}..{high} of {size} elements")
    return index


def _take_infer(types: list[Type], attrs: dict[str, Any], fmt: Format) -> Type:
    x, index = types
    attrs["axis"] = axis_index(x.rank, attrs["axis"])
    if index.kind != "int" or index.rank != x.rank:
        raise ArithmeticScopeError(f"take_along needs integer indices of the same rank: {x} and {index}")
    return Type(x.format, index.shape)


def _take(attrs: Attrs, args: list[Any]) -> Any:
    return np.take_along_axis(args[0], _checked(args[1], args[0].shape[attrs["axis"]]), attrs["axis"])


def _scatter_infer(types: list[Type], attrs: dict[str, Any], fmt: Format) -> Type:
    base, updates, index = types
    axis = attrs["axis"] = axis_index(base.rank, attrs["axis"])
    if index.kind != "int" or index.rank != 1:
        raise ArithmeticScopeError(f"scatter needs a vector of integer indices, not {index}")
    shape = tuple(index.shape[0] if i == axis else d for i, d in enumerate(base.shape))
    if len(shape) != updates.rank or not all(equal(a, b) for a, b in zip(shape, updates.shape, strict=True)):
        raise ArithmeticScopeError(f"scatter into {base} wants updates of shape {shape_text(shape)}, not {updates}")
    return Type(held([base, updates]), base.shape)


def _scatter(attrs: Attrs, args: list[Any]) -> Any:
    base, updates, index = args
    out = np.array(base)
    place: list[Any] = [slice(None)] * out.ndim
    place[attrs["axis"]] = _checked(index, out.shape[attrs["axis"]])
    out[tuple(place)] = updates
    return out


def _iota_infer(types: list[Type], attrs: dict[str, Any], fmt: Format) -> Type:
    return Type(INT64, (attrs["size"],))


def _one_hot_infer(types: list[Type], attrs: dict[str, Any], fmt: Format) -> Type:
    return Type(INT64, (*types[0].shape, attrs["size"]))


def _one_hot(attrs: Attrs, args: list[Any]) -> Any:
    return (args[0][..., None] == np.arange(attrs["size"])).astype(np.int64)


def _full_infer(types: list[Type], attrs: dict[str, Any], fmt: Format) -> Type:
    return Type(types[0].format if types[0].kind != "real" else FP64, tuple(attrs["shape"]))


def _to_shape(attrs: Attrs, args: list[Any]) -> Any:
    return np.broadcast_to(args[0], attrs["shape"])


OPERATORS = (
    movement("reshape", 1, _reshape_infer, lambda at, a: np.reshape(a[0], at["shape"])),
    movement("transpose", 1, _transpose_infer, lambda at, a: np.transpose(a[0], at["axes"])),
    movement("concat", None, _concat_infer, lambda at, a: np.concatenate(a, axis=at["axis"])),
    movement("slice", 1, _slice_infer, _slice),
    movement("pad", 1, _pad_infer, _pad, fills=True),
    movement("broadcast", 1, _broadcast_infer, _to_shape),
    movement("expand", 1, _expand_infer, lambda at, a: np.expand_dims(a[0], at["axis"])),
    movement("flip", 1, _flip_infer, lambda at, a: np.flip(a[0], at["axis"])),
    movement("windows", 1, _windows_infer, _windows),
    movement("gather", 2, _gather_infer, _gather, indices=1),
    movement("take_along", 2, _take_infer, _take, indices=1),
    movement("scatter", 3, _scatter_infer, _scatter, indices=1),
    movement("iota", 0, _iota_infer, lambda at, a: np.arange(at["size"], dtype=np.int64)),
    movement("one_hot", 1, _one_hot_infer, _one_hot, indices=1),
    movement("full", 1, _full_infer, _to_shape),
)

"""Sums of products: matmul and two-operand einsum, one bound and one emulation for both.

|fl(C) - C| <= gamma_(depth+1) |A| |B| plus what the operands carry, entrywise (Higham 2002, eq. 3.13), for every
order of summation and with or without fused multiply-add.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from kernel_contracts.errors import ArithmeticScopeError
from kernel_contracts.formats import INT64, Format
from kernel_contracts.numerics.bounded import Array, BoundContext, Bounded, Radius, clean
from kernel_contracts.numerics.dims import Dim, broadcast, equal, shape_text, text
from kernel_contracts.numerics.domains import FLOAT64, Domain
from kernel_contracts.numerics.operators.base import Attrs, EmulateContext, Operator, need_real
from kernel_contracts.numerics.operators.elementwise import integers
from kernel_contracts.numerics.operators.reductions import largest_partial
from kernel_contracts.numerics.program import Type
from kernel_contracts.numerics.rounding import round_sum, round_to
from kernel_contracts.numerics.summation import Order, chunk_length, sum_terms

_MAX_TERMS = 1 << 22
#: Orders in which a running sum meets one product at a time; a tree of additions has none to fuse.
_FUSABLE = ("sequential", "blocked", "split")


def _matmul_infer(types: list[Type], attrs: dict[str, Any], fmt: Format) -> Type:
    need_real("matmul", types)
    a, b = types
    low, high = sorted((a.rank, b.rank))
    if low < 1 or (low == 1 and high > 2):
        raise ArithmeticScopeError(f"matmul({a}, {b}) needs matrices, or a vector and a matrix")
    left: tuple[Dim, ...] = a.shape if a.rank > 1 else (1, *a.shape)
    right: tuple[Dim, ...] = b.shape if b.rank > 1 else (*b.shape, 1)
    if not equal(left[-1], right[-2]):
        raise ArithmeticScopeError(
            f"matmul({shape_text(a.shape)}, {shape_text(b.shape)}) contracts {text(left[-1])} with {text(right[-2])}"
        )
    shape: tuple[Dim, ...] = broadcast([left[:-2], right[:-2]])
    shape += () if a.rank == 1 else (left[-2],)
    shape += () if b.rank == 1 else (right[-1],)
    return Type(INT64 if a.kind == b.kind == "int" else fmt, shape)


def _matmul(domain: Domain, attrs: Attrs, fmt: Format, args: list[Any]) -> Any:
    a, b = args if integers(args) else [domain.real(x) for x in args]
    with np.errstate(invalid="ignore", over="ignore"):
        return np.asarray(np.matmul(a, b))


def parse_spec(spec: str) -> tuple[str, str, str]:
    """`ij,jk->ik` as its three parts. Raises ArithmeticScopeError for any other form."""
    compact = spec.replace(" ", "")
    left, arrow, out = compact.partition("->")
    operands = left.split(",")
    if not arrow or len(operands) != 2 or not all(p.isalpha() for p in operands if p) or not (out.isalpha() or not out):
        raise ArithmeticScopeError(f'einsum "{spec}" is not of the form "ij,jk->ik" (two operands, explicit result)')
    for part in (*operands, out):
        if len(set(part)) != len(part):
            raise ArithmeticScopeError(f'einsum "{spec}" repeats an index inside {part}; take the diagonal first')
    if set(out) - set(operands[0]) - set(operands[1]):
        raise ArithmeticScopeError(f'einsum "{spec}" has an index in its result that no operand has')
    return operands[0], operands[1], out


def _einsum_infer(types: list[Type], attrs: dict[str, Any], fmt: Format) -> Type:
    need_real("einsum", types)
    left, right, out = parse_spec(attrs["spec"])
    sizes: dict[str, Dim] = {}
    for part, operand in zip((left, right), types, strict=True):
        if len(part) != operand.rank:
            raise ArithmeticScopeError(f'einsum "{attrs["spec"]}" wants rank {len(part)}, not {operand}')
        for index, dim in zip(part, operand.shape, strict=True):
            if index in sizes and not equal(sizes[index], dim):
                raise ArithmeticScopeError(
                    f'einsum "{attrs["spec"]}": index {index} is {text(sizes[index])} and {text(dim)}'
                )
            sizes.setdefault(index, dim)
    return Type(INT64 if all(t.kind == "int" for t in types) else fmt, tuple(sizes[i] for i in out))


def _as_batches(spec: str, a: Any, b: Any) -> tuple[Any, Any, tuple[int, ...], list[int]]:
    """einsum operands as [batch, m, k] and [batch, k, n], the result's shape and the order of its axes."""
    left, right, out = parse_spec(spec)
    shared = [i for i in left if i in right]
    batch = [i for i in shared if i in out]
    inner = [i for i in shared if i not in out]
    # an index of one operand alone that the result lacks is summed with a factor of one
    a, left = _fold_lonely(a, left, right, out)
    b, right = _fold_lonely(b, right, left, out)
    rows = [i for i in left if i not in shared]
    columns = [i for i in right if i not in shared]
    size = dict(zip(left, a.shape, strict=True)) | dict(zip(right, b.shape, strict=True))
    a = np.transpose(a, [left.index(i) for i in batch + rows + inner])
    b = np.transpose(b, [right.index(i) for i in batch + inner + columns])

    def span(names: list[str]) -> int:
        return math.prod(size[i] for i in names)

    a = a.reshape(span(batch), span(rows), span(inner))
    b = b.reshape(span(batch), span(inner), span(columns))
    names = batch + rows + columns
    return a, b, tuple(size[i] for i in names), [names.index(i) for i in out]


def _fold_lonely(x: Any, mine: str, other: str, out: str) -> tuple[Any, str]:
    lonely = [i for i in mine if i not in other and i not in out]
    if lonely:
        raise ArithmeticScopeError(
            f"einsum sums {', '.join(lonely)} over one operand alone; write sum(x, axis = ...) first"
        )
    return x, mine


def _einsum(domain: Domain, attrs: Attrs, fmt: Format, args: list[Any]) -> Any:
    a, b = args if integers(args) else [domain.real(x) for x in args]
    a, b, shape, order = _as_batches(attrs["spec"], a, b)
    with np.errstate(invalid="ignore", over="ignore"):
        return np.transpose(np.matmul(a, b).reshape(shape), order)


def contraction(name: str, infer: Any, value: Any) -> Operator:
    """matmul or einsum around one bound."""

    def inner(attrs: Attrs, a: Array, b: Array) -> int:
        if name == "matmul":
            return int(a.shape[-1])
        return int(_as_batches(attrs["spec"], a, b)[0].shape[-1])

    def bound(context: BoundContext, attrs: Attrs, fmt: Format, args: list[Bounded]) -> Bounded:
        a, b = args
        v = value(FLOAT64, attrs, fmt, [a.v, b.v])
        if v.dtype.kind in "iu":
            return Bounded(v)
        k = inner(attrs, a.v, b.v)

        def times(p: Array, q: Array) -> Array:
            return np.asarray(value(FLOAT64, attrs, fmt, [p, q]))

        size_a, size_b = np.abs(FLOAT64.real(a.v)), np.abs(FLOAT64.real(b.v))
        nonneg = a.nonneg and b.nonneg
        with np.errstate(invalid="ignore", over="ignore"):
            large_a, large_b = (size_a if a.exact else size_a + a.e), (size_b if b.exact else size_b + b.e)
            total = v if nonneg and a.exact and b.exact else times(large_a, large_b)
            if a.exact and b.exact and a.quantum is not None and b.quantum is not None:
                quantum = a.quantum * b.quantum
                if context.unrounded(quantum, largest_partial(total, v), fmt):
                    return Bounded(v, 0.0, nonneg, quantum)
            carried: Radius = 0.0 if a.exact else times(_spread(a), large_b)
            carried = carried if b.exact else carried + times(size_a, _spread(b))
            gamma = context.gamma(context.depth(k) + 1, fmt)
            error = np.asarray(total * gamma)
            # every product may underflow, and where subnormals are flushed every partial sum as well
            error += k * (2 if context.flush else 1) * context.tiny(fmt) * (1 + min(gamma, 1.0))
            largest = total + error if total is v else np.add(total, error, out=total)
            return clean(v, carried, error, fmt, largest, nonneg)

    def emulate(context: EmulateContext, attrs: Attrs, fmt: Format, args: list[Array]) -> Array:
        if integers(args):
            return np.asarray(value(FLOAT64, attrs, fmt, list(args)))
        a, b = (round_to(np.asarray(x, dtype=np.float64), fmt) for x in args)
        if name == "einsum":
            p, q, shape, order = _as_batches(attrs["spec"], a, b)
            return np.transpose(_products(context, fmt, p, q).reshape(shape), order)
        p, q = (a if a.ndim > 1 else a[None, :]), (b if b.ndim > 1 else b[:, None])
        out = _products(context, fmt, p, q)
        out = out[..., 0, :] if a.ndim == 1 else out
        return out[..., 0] if b.ndim == 1 else out

    return Operator(name, 2, infer, value, bound, emulate, sums=True)


def _spread(x: Bounded) -> Array:
    return np.array(x.radius())


def _products(context: EmulateContext, fmt: Format, a: Array, b: Array) -> Array:
    """[..., m, k] times [..., k, n] with every product and addition rounded in the order asked for."""
    k = a.shape[-1]
    if context.fma and k and fmt.precision <= 26 and context.order.name in _FUSABLE:
        return _fused_in_parts(fmt, a, b, context.order)
    lead = np.broadcast_shapes(a.shape[:-2], b.shape[:-2])
    out = np.empty((*lead, a.shape[-2], b.shape[-1]))
    turned = np.swapaxes(b, -1, -2)
    step = max(1, _MAX_TERMS // max(1, math.prod(lead) * b.shape[-1] * k))
    with np.errstate(over="ignore", invalid="ignore"):
        for i in range(0, a.shape[-2], step):
            terms = a[..., i : i + step, None, :] * turned[..., None, :, :]
            out[..., i : i + step, :] = sum_terms(round_to(terms, fmt), fmt, context.order)
    return out


def _fused_in_parts(fmt: Format, a: Array, b: Array, order: Order) -> Array:
    """Fused multiply-adds inside each part of the order, the parts' results added up one after another."""
    k, size = a.shape[-1], a.shape[-1]
    if order.name in ("blocked", "split"):
        size = chunk_length(k, order)
    parts = [_fused(fmt, a[..., i : i + size], b[..., i : i + size, :]) for i in range(0, k, size)]
    return sum_terms(np.stack(parts, axis=-1), fmt, Order("sequential"))


def _fused(fmt: Format, a: Array, b: Array) -> Array:
    """In index order, each step one fused multiply-add: the product enters unrounded."""
    total = np.zeros((*np.broadcast_shapes(a.shape[:-2], b.shape[:-2]), a.shape[-2], b.shape[-1]))
    with np.errstate(over="ignore", invalid="ignore"):
        for k in range(a.shape[-1]):
            product = a[..., :, k, None] * b[..., None, k, :]
            high = total + product
            part = high - total
            low = (total - (high - part)) + (product - part)
            total = round_sum(high, np.where(np.isfinite(high), low, 0.0), fmt)
    return total


OPERATORS = (
    contraction("matmul", _matmul_infer, _matmul),
    contraction("einsum", _einsum_infer, _einsum),
)

"""Thin products and row statistics of one operand, taken in a single pass over its memory."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from kernel_contracts.numerics.freivalds.arrays import Arrays, panels


@dataclass(frozen=True, slots=True)
class Pass:
    """What one pass over X gave; entries run over the rows of X, batches first."""

    products: list[Any]
    """X y for each y asked for."""
    squares: list[Any]
    """(X o X) w for each w asked for; w is None for the plain sum of squares."""
    column_sums: Any
    """1^T X, or None."""


def read(
    ops: Arrays, x: Any, vectors: Sequence[Any], weights: Sequence[Any] = (), *, column_sums: bool = False
) -> Pass:
    """One pass over x (..., rows, columns). Vectors and weights have the length of the columns, batches first.

    An operand that is stored by columns, as the transposed weight of a linear layer is, is read by columns.
    """
    rows, columns = x.shape[-2], x.shape[-1]
    batched = len(x.shape) > 2
    if not batched and _by_columns(x):
        return _read_columns(ops, x, vectors, weights, column_sums)
    out = Pass([ops.empty(*x.shape[:-1]) for _ in vectors], [ops.empty(*x.shape[:-1]) for _ in weights], ops.empty(0))
    sums = None
    for part in panels(rows, columns, batched):
        panel = ops.wide(x[..., part, :])
        for target, y in zip(out.products, vectors, strict=True):
            target[..., part] = ops.matvec(panel, y)
        for target, w in zip(out.squares, weights, strict=True):
            target[..., part] = ops.row_squares(panel) if w is None else ops.square_matvec(panel, w)
        if column_sums:
            found = ops.column_sums(panel)
            sums = found if sums is None else sums + found
    return Pass(out.products, out.squares, sums)


def _by_columns(x: Any) -> bool:
    """Whether elements of a column are neighbours in memory and elements of a row are not."""
    strides = x.stride() if callable(getattr(x, "stride", None)) else [s // x.itemsize for s in x.strides]
    return bool(strides[-2] == 1 and strides[-1] != 1)


def _read_columns(ops: Arrays, x: Any, vectors: Sequence[Any], weights: Sequence[Any], column_sums: bool) -> Pass:
    rows, columns = x.shape
    products: list[Any] = [0.0] * len(vectors)
    squares: list[Any] = [0.0] * len(weights)
    sums: Any = ops.empty(columns) if column_sums else None
    for part in panels(columns, rows, False):
        panel = ops.wide(x[:, part])
        for i, y in enumerate(vectors):
            products[i] = products[i] + ops.matvec(panel, y[part])
        for i, w in enumerate(weights):
            found = ops.row_squares(panel) if w is None else ops.square_matvec(panel, w[part])
            squares[i] = squares[i] + found
        if column_sums:
            sums[part] = ops.column_sums(panel)
    return Pass(products, squares, sums)

"""Thin products and row statistics of one operand, taken in a single pass over its memory.

A product reads everything, in sums of at most `CHUNK` terms. Statistics only scale thresholds that decide where to
look, so a sample of the columns is enough for them: a slab of neighbours, or columns drawn where weights differ.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from kernel_contracts.numerics.freivalds.arrays import READ_BYTES, Arrays, panels

CHUNK = 4096
"""Terms of a product that are summed in one go: longer sums in fp32 would drown what is looked for."""
SAMPLE = 128
"""Columns that statistics are taken from, or a 32nd of all: a mean square of 128 values scatters by 12%."""
WHOLE = 512
"""Columns up to which statistics are taken from all."""
ROWS = 16
"""Rows that stand for all where a sketch says that they are alike: their mean norm then scatters by 1%."""

ALIKE = 256
"""Rows from which on a sketch can say so."""


@dataclass(frozen=True, slots=True)
class Pass:
    """What one pass over X gave; entries run over the rows of X, batches first."""

    products: list[Any]
    """X y for each y asked for."""
    squares: list[Any]
    """(X o X) w for each w asked for; w is None for the plain sum of squares."""
    column_sums: Any
    """1^T X on the slab, or None."""


@dataclass(frozen=True, slots=True)
class Picked:
    """Columns drawn in proportion to weights w: their plain squares times `factor` estimate (X o X) w."""

    index: Any
    factor: Any


def sampled(columns: int) -> int:
    """The number of columns that statistics are taken from."""
    return columns if columns <= WHOLE else max(SAMPLE, columns // 32)


def slab(columns: int, seed: int) -> slice:
    """Neighbouring columns for statistics, at a place that depends on the seed."""
    count = sampled(columns)
    start = seed % (columns - count + 1)
    return slice(start, start + count)


def read(
    ops: Arrays,
    x: Any,
    vectors: Sequence[Any],
    weights: Sequence[Any] = (),
    *,
    column_sums: bool = False,
    part: slice | None = None,
) -> Pass:
    """One pass over x (..., rows, columns). Vectors and weights have the length of the columns, batches first.

    Plain squares and column sums are taken on the slab `part`, squares scaled to the whole width. An operand that is
    stored by columns, as the transposed weight of a linear layer is, is read by columns.
    """
    rows, columns = x.shape[-2], x.shape[-1]
    batched = len(x.shape) > 2
    once = len(vectors) == 1 and not weights and not column_sums and ops.fits(x)
    if once and (batched or not by_columns(x)):
        return Pass([_product(ops, x, vectors[0])], [], None)
    part = part or slice(0, columns)
    if not batched and by_columns(x):
        return _read_columns(ops, x, vectors, weights, column_sums, part)
    whole = part == slice(0, columns)
    scale = columns / max(1, part.stop - part.start)
    if not vectors and all(w is None for w in weights):
        few = ops.wide(x[..., part])
        found = [_squares(ops, few, few, scale, None) for _ in weights]
        return Pass([], found, ops.column_sums(few) if column_sums else None)
    products: list[list[Any]] = [[] for _ in vectors]
    squares: list[list[Any]] = [[] for _ in weights]
    sums = None
    for some in panels(rows, columns, batched, _panel(ops, x)):
        panel = ops.wide(x[..., some, :])
        for pieces, y in zip(products, vectors, strict=True):
            pieces.append(_product(ops, panel, y))
        few = panel if whole else panel[..., part]
        for pieces, w in zip(squares, weights, strict=True):
            pieces.append(_squares(ops, panel, few, scale, w))
        if column_sums:
            more = ops.column_sums(few)
            sums = more if sums is None else sums + more
    return Pass([ops.join_rows(p) for p in products], [ops.join_rows(p) for p in squares], sums)


def _panel(ops: Arrays, x: Any) -> int:
    return max(READ_BYTES, ops.panel) if ops.fits(x) else ops.panel


def alike(ops: Arrays, x: Any, sketch: Any, *, about_zero: bool = False) -> bool:
    """Whether rows of x are of much the same size, as far as their products with one random vector tell.

    These are then normal over the rows: fourth powers average to three times the square of the mean square, within five
    times the scatter sqrt(24 / m) of that. With `about_zero` column means must be what zero-mean entries have, too:
    else the mean of the sketch stands out of its scatter. Only asked where it saves a pass that costs more.
    """
    rows, columns = x.shape[-2], x.shape[-1]
    if len(x.shape) > 2 or columns <= WHOLE or rows < ALIKE or by_columns(x):
        return False
    found = ops.moments(sketch)
    if found is None or not 0 < found[2] <= (3 + 5 * (24 / rows) ** 0.5) * found[1] ** 2:
        return False
    return not about_zero or rows * found[0] ** 2 <= 8 * found[1]


def typical(ops: Arrays, x: Any) -> Any:
    """The mean squared norm of some rows of x."""
    return ops.row_squares(ops.wide(x[:: x.shape[-2] // ROWS])).mean()


def _product(ops: Arrays, x: Any, y: Any) -> Any:
    columns = x.shape[-1]
    if columns <= CHUNK or ops.precision == "fp64":
        return ops.matvec(x, y)
    total = ops.matvec(x[..., :CHUNK], y[..., :CHUNK])
    for start in range(CHUNK, columns, CHUNK):
        some = slice(start, start + CHUNK)
        total = total + ops.matvec(x[..., some], y[..., some])
    return total


def _squares(ops: Arrays, x: Any, few: Any, scale: float, w: Any) -> Any:
    if w is None:
        found = ops.row_squares(few)
        return found if scale == 1 else found * scale
    if isinstance(w, Picked):
        return ops.row_squares(ops.take(x, w.index)) * w.factor
    return ops.square_matvec(x, w)


def by_columns(x: Any) -> bool:
    """Whether elements of a column are neighbours in memory and elements of a row are not."""
    if callable(getattr(x, "stride", None)):
        strides = x.stride()
    elif hasattr(x, "strides"):
        strides = [s // x.itemsize for s in x.strides]
    else:
        return False  # JAX does not say how an array lies in memory
    return bool(strides[-2] == 1 and strides[-1] != 1)


def _read_columns(
    ops: Arrays, x: Any, vectors: Sequence[Any], weights: Sequence[Any], column_sums: bool, part: slice
) -> Pass:
    rows, columns = x.shape
    products: list[Any] = [0.0] * len(vectors)
    full = [i for i, w in enumerate(weights) if w is not None and not isinstance(w, Picked)]
    squares: list[Any] = [0.0] * len(weights)
    for some in panels(columns, rows, False, _panel(ops, x), CHUNK):
        panel = ops.wide(x[:, some])
        for i, y in enumerate(vectors):
            products[i] = products[i] + ops.matvec(panel, y[some])
        for i in full:
            squares[i] = squares[i] + ops.square_matvec(panel, weights[i][some])
    few = ops.wide(x[:, part])
    scale = columns / max(1, part.stop - part.start)
    for i, w in enumerate(weights):
        if i not in full:
            panel = few if w is None else ops.wide(ops.take(x, w.index))
            squares[i] = ops.row_squares(panel) * (scale if w is None else w.factor)
    return Pass(products, squares, ops.column_sums(few) if column_sums else None)

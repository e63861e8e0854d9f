"""The screen: A(BR) - CR row by row, over the threshold that its own statistics give."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from kernel_contracts.numerics.freivalds import model
from kernel_contracts.numerics.freivalds.arrays import Arrays
from kernel_contracts.numerics.freivalds.quantiles import mean_square
from kernel_contracts.numerics.freivalds.thin import (
    WHOLE,
    Pass,
    Picked,
    alike,
    read,
    sampled,
    slab,
    typical,
)
from kernel_contracts.numerics.freivalds.vectors import GRADE, Vectors

CENTRED = 0.3
"""Share of Q up to which the means' part of N is bounded rather than computed."""


#: By how much ||r o e||^2 may exceed ||e||^2, given the magnitudes of r.
_SPREAD: dict[str, Callable[[float, int], float]] = {
    "signs": lambda p, n: 1.0,
    "graded": lambda p, n: (1 + GRADE) ** 2,
    "gaussian": mean_square,
}


@dataclass(frozen=True, slots=True)
class Block:
    """What a pass over one column block of B gave."""

    images: list[Any]
    """B r for each secret vector."""
    row_squares: Any
    """s_k^2: squared norms of the rows."""
    mean_squares: Any
    """Sum over the columns of the squares of their means, less what zero-mean entries would give: mean(s_k^2) / K."""
    centred: bool
    """Whether means add so little that their bound (Cauchy-Schwarz) may stand for them: spares the row sums of A."""
    flat: float | None
    """The mean s_k^2 where all are alike: then ||A_i||^2 times it stands for Q_i."""
    weights: Any
    """How Q_i is taken from A: None for ||A_i||^2, some columns, or s_k^2 for all of them."""


@dataclass(frozen=True, slots=True)
class Right:
    """The right operand, reduced to what every later check needs: kept for a weight that does not change."""

    blocks: list[Block]
    vectors: Vectors
    secrets: list[list[Any]]
    """R itself in the library's arrays, block by block."""
    thorough: bool = False
    """Whether statistics are taken from every column."""


@dataclass(frozen=True, slots=True)
class Screened:
    """Residuals of all rows against all columns of R: arrays (..., rows, columns of R) of the check's library."""

    residual: Any
    variance: Any
    """V of each: a sub-Gaussian proxy of an honest residual."""
    inner: Any
    """The share of accumulation and check in it, for weights of mean square 1."""
    sketch: Any
    """alpha A(BR) + added R: what C R should be."""
    norms: Any
    """Mean squared norm of the rows of T on each block (..., rows, blocks)."""


@dataclass(frozen=True, slots=True)
class Addend:
    """A matrix added to the product: `factor` times `value`, broadcast to the shape of C."""

    factor: float
    value: Any


def prepare(ops: Arrays, b: Any, vectors: Vectors, *, thorough: bool = False) -> Right:
    """The pass over B; `thorough` takes statistics from every column."""
    blocks, secrets = [], []
    for start, stop in vectors.blocks:
        rs = [ops.vector(vectors.values[start:stop, c]) for c in range(len(vectors.kinds))]
        part = b if len(vectors.blocks) == 1 else b[..., start:stop]
        if len(rs) == len(vectors.blocks) == 1 and not thorough and stop > WHOLE:
            images = read(ops, part, rs).products
            simple = alike(ops, part, images[0], about_zero=True)
            blocks.append(_simple(ops, part, images) if simple else _block(ops, part, [], vectors.seed, images))
        else:
            blocks.append(_block(ops, part, rs, None if thorough else vectors.seed, []))
        secrets.append(rs)
    return Right(blocks, vectors, secrets, thorough)


def _simple(ops: Arrays, b: Any, images: list[Any]) -> Block:
    """Rows that are alike, about zero."""
    mean = typical(ops, b)
    return Block(images, None, 0.0, True, float(mean), None)


def _block(ops: Arrays, b: Any, secrets: list[Any], seed: int | None, images: list[Any]) -> Block:
    """The statistics of B on some columns, with its products unless there are `images` already."""
    k, n = b.shape[-2], b.shape[-1]
    seen = slice(0, n) if seed is None else slab(n, seed)
    found = read(ops, b, secrets, [None], column_sums=True, part=seen)
    means = found.column_sums / max(1, k)
    squares = found.squares[0]
    flat = ops.flat(squares)
    usual = squares.sum(-1) / max(1, k)
    share = n / max(1, seen.stop - seen.start)
    beyond = ops.maximum(share * (means * means).sum(-1) - usual / max(1, k), 0.0)
    small = flat is not None and float(k * beyond) <= CENTRED * float(usual)
    weights = None if flat is not None else squares if seed is None else _weights(ops, squares, seed)
    return Block(images or found.products, squares, beyond, small, flat, weights)


def _weights(ops: Arrays, squares: Any, seed: int) -> Any:
    """Columns of A in proportion to s_k^2, evenly over their running sum; all of them where there are few."""
    count = sampled(squares.shape[-1])
    if len(squares.shape) > 1 or squares.shape[-1] <= WHOLE:
        return squares
    index, total = ops.pick(squares, (np.arange(count) + (seed % 1009 + 0.5) / 1009) / count)
    return Picked(index, total / count)


def screen(
    ops: Arrays,
    a: Any,
    right: Right,
    c: Any,
    arithmetic: model.Arithmetic,
    alpha: float = 1.0,
    addends: Sequence[Addend] = (),
    confidence: float = 1e-9,
    unit: tuple[float, float] = (1.0, 1.0),
) -> Screened:
    """The pass over A and C. Nothing is decided here and no device is waited for."""
    k, passes = a.shape[-1], len(right.vectors.kinds)
    images = [y for block in right.blocks for y in block.images]
    centred = all(block.centred for block in right.blocks)
    ones = [] if centred else [ops.broadcast(ops.vector([1.0] * k), tuple(images[0].shape))]
    plain = all(block.flat is not None for block in right.blocks)
    weights = [None] if plain else [b.row_squares if b.weights is None else b.weights for b in right.blocks]
    part = slab(k, right.vectors.seed) if plain and not right.thorough else None
    if part is not None and len(images) == 1 and k > WHOLE:
        left = read(ops, a, [*images, *ones])
        same = alike(ops, a, left.products[0])
        squares = typical(ops, a) if same else read(ops, a, [], [None], part=part).squares[0]
        left = Pass(left.products, [squares], None)
    else:
        left = read(ops, a, [*images, *ones], weights, part=part)
    residuals, variances, inners, sketches, norms = [], [], [], [], []
    for index, (block, (start, stop)) in enumerate(zip(right.blocks, right.vectors.blocks, strict=True)):
        width = stop - start
        part = c if len(right.blocks) == 1 else c[..., start:stop]
        got = read(ops, part, right.secrets[index]).products
        raw = left.products[index * passes : (index + 1) * passes]
        products, added = _added(ops, raw, right.secrets[index], part.shape, slice(start, stop), alpha, addends)
        sketch = raw[0] * raw[0]
        for z in raw[1:]:
            sketch = sketch + z * z
        sketch = sketch if passes == 1 else sketch / passes
        squares = left.squares[0] * block.flat if plain else left.squares[index]
        sample = not right.thorough and len(a.shape) == 2 and len(squares.shape) == 1
        if sample and (plain or block.weights is not None):
            squares = _shrunk(ops, squares, sampled(k), k)
        if centred:
            means = CENTRED * squares  # (sum_k A_ik)^2 <= K ||A_i||^2
        else:
            means = left.products[-1] * left.products[-1] * _last(block.mean_squares)
        facts = model.RowFacts(squares, means, sketch, added)
        norm = model.norms(ops, facts)
        inner = model.inner(arithmetic, k, width, alpha, unit, added=bool(addends)).of(facts, norm)
        rounded = model.rounding(arithmetic, width, alpha, unit)
        v = inner if rounded is None else inner + rounded.of(facts, norm)
        norms.append(norm)
        for z, found, kind in zip(products, got, right.vectors.kinds, strict=True):
            spread = _SPREAD[kind](confidence, width)
            residuals.append(z - found)
            sketches.append(z)
            variances.append(v if spread == 1.0 else v * spread)
            inners.append(inner)
    parts = (residuals, variances, inners, sketches, norms)
    return Screened(*(ops.join(part) for part in parts))


def _shrunk(ops: Arrays, squares: Any, count: int, k: int) -> Any:
    """Estimates from `count` of k terms, drawn together by what sampling alone scatters (James and Stein 1961)."""
    if count >= k:
        return squares
    mean = squares.mean()
    off = squares - mean
    scatter = (2 / count) * mean * mean
    return mean + off * ops.maximum(1 - scatter / ((off * off).mean() + 1e-37), 0.0)


def _added(
    ops: Arrays,
    raw: list[Any],
    secrets: list[Any],
    shape: Sequence[int],
    columns: slice,
    alpha: float,
    addends: Sequence[Addend],
) -> tuple[list[Any], Any]:
    """alpha A y + added r, and the squared norm of what is added to each row."""
    products = raw if alpha == 1.0 else [alpha * z for z in raw]
    norm: Any = 0.0
    for addend in addends:
        value = addend.value
        if len(value.shape) == 1:  # a bias: one row for all
            value = value[None, :]
        if value.shape[-1] != 1:
            value = value[..., columns]
        value = value if value.shape[-1] == shape[-1] else ops.broadcast(value, (*value.shape[:-1], shape[-1]))
        found = read(ops, value, secrets, [None])
        products = [z + addend.factor * x for z, x in zip(products, found.products, strict=True)]
        norm = norm + addend.factor**2 * found.squares[0]
    return products, norm


def _last(x: Any) -> Any:
    """A batch of scalars beside a batch of rows."""
    return x[..., None] if len(getattr(x, "shape", ())) else x

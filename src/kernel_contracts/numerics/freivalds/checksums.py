"""Operations that are products in disguise, checked as such: convolution, attention, sums, all-reduce, look-ups.

All take NumPy arrays, or what turns into one, and return what `check_product` returns.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kernel_contracts.errors import UsageError
from kernel_contracts.formats import STORED
from kernel_contracts.numerics.freivalds.arrays import host
from kernel_contracts.numerics.freivalds.product import check_product
from kernel_contracts.numerics.freivalds.verdict import ProductCheck
from kernel_contracts.numerics.rounding import ulp_of

Array = NDArray[Any]


def check_convolution(
    x: Any,
    w: Any,
    y: Any,
    *,
    stride: int | Sequence[int] = 1,
    padding: int | Sequence[int] = 0,
    dilation: int | Sequence[int] = 1,
    groups: int = 1,
    bias: Any = None,
    **how: Any,
) -> ProductCheck:
    """y (N, O, *out) = convolution of x (N, C, *in) with w (O, C / groups, *kernel), in one to three dimensions.

    Each output position is a row of the product of its window, flattened, with the flattened kernels; a batch entry
    and a group are one product of the batch. Places in faults are (image, group), position, output channel.
    """
    x, w, y = host(x), host(w), host(y)
    axes = x.ndim - 2
    steps = [_each(v, axes) for v in (stride, padding, dilation)]
    a = windows(x, w.shape[2:], *steps)  # (N, positions, C, kernel)
    n, positions, channels, size = a.shape
    outputs = w.shape[0] // groups
    a = a.reshape(n, positions, groups, channels // groups * size).swapaxes(1, 2)
    b = w.reshape(groups, outputs, -1).swapaxes(1, 2)[None]
    if y.shape[:2] != (n, w.shape[0]) or int(np.prod(y.shape[2:])) != positions:
        raise UsageError(f"a convolution of {x.shape} with {w.shape} has {positions} positions; y has shape {y.shape}")
    c = y.reshape(n, groups, outputs, positions).swapaxes(2, 3)
    if bias is not None:
        how = {**how, "beta": 1.0, "addend": host(bias).reshape(1, groups, 1, outputs)}
    return check_product(a, np.broadcast_to(b, (n, *b.shape[1:])), c, **how)


def _each(value: int | Sequence[int], axes: int) -> tuple[int, ...]:
    return (value,) * axes if isinstance(value, int) else tuple(value)


def windows(
    x: Array, kernel: Sequence[int], stride: Sequence[int], padding: Sequence[int], dilation: Sequence[int]
) -> Array:
    """Windows of x as (N, positions, C, elements of the kernel)."""
    axes = len(kernel)
    x = np.pad(x, [(0, 0), (0, 0), *((p, p) for p in padding)])
    spans = [d * (k - 1) + 1 for k, d in zip(kernel, dilation, strict=True)]
    view = np.lib.stride_tricks.sliding_window_view(x, spans, axis=tuple(range(2, 2 + axes)))
    steps = tuple(slice(None, None, s) for s in stride)
    inside = tuple(slice(None, None, d) for d in dilation)
    view = view[(slice(None), slice(None), *steps, *inside)]  # (N, C, *out, *kernel)
    n, c = view.shape[:2]
    moved = np.moveaxis(view, 1, 1 + axes)  # (N, *out, C, *kernel)
    return moved.reshape(n, int(np.prod(view.shape[2 : 2 + axes])), c, -1)


@dataclass(frozen=True, slots=True)
class AttentionCheck:
    """The three parts of an attention whose scores and weights are at hand."""

    scores: ProductCheck
    weights: SoftmaxCheck
    values: ProductCheck

    @property
    def ok(self) -> bool:
        return self.scores.ok and self.weights.ok and self.values.ok


@dataclass(frozen=True, slots=True)
class SoftmaxCheck:
    """Rows that sum to one, and weights whose ratios are those of the scores."""

    ok: bool
    rows: tuple[tuple[int, ...], ...]
    """Rows that are wrong, the first eight."""
    worst_sum: float
    """Largest |sum - 1|."""
    worst_ratio: float
    """Largest error over its bound."""


def check_attention(q: Any, k: Any, v: Any, scores: Any, weights: Any, out: Any, **how: Any) -> AttentionCheck:
    """scores = q k^T / sqrt(d), weights = softmax(scores), out = weights v, each from the one before as stored."""
    q, k, v, scores, weights, out = (host(x) for x in (q, k, v, scores, weights, out))
    scale = 1.0 / float(np.sqrt(q.shape[-1]))
    return AttentionCheck(
        check_product(q, k, scores, transpose="b", alpha=scale, **how),
        check_softmax(scores, weights),
        check_product(weights, v, out, **how),
    )


#: Largest error of an exponential in units in the last place: OpenCL C 3.0, section 7.4, full profile.
_EXP_ULP = 3.0


def check_softmax(scores: Any, weights: Any, compute: str = "fp32") -> SoftmaxCheck:
    """weights = softmax of scores along the last axis, computed in `compute` and rounded to the format of weights.

    Invariants: nothing negative, and every weight is exp(s - max) over the row's sum. An exponential of t = s - max
    errs by 3 ulp and by u |t| from the rounding of t; the sum of n of them by gamma_n, the quotient by 2.5 ulp (OpenCL
    C 3.0, 7.4). All are relative, so they add up to (2 u (|t| + |t|') + 2 (3 + 3) u + n u + 5 u), |t|' the largest |t|
    weighted by its share; rounding to the output adds half a spacing.
    """
    s, w = host(scores), host(weights)
    fmt = _format_of(w)
    u = _named(compute).u
    with np.errstate(invalid="ignore", over="ignore", divide="ignore"):
        x, p = np.asarray(s, np.float64), np.asarray(w, np.float64)
        t = x - np.max(x, axis=-1, keepdims=True)
        e = np.exp(t)
        truth = e / np.sum(e, axis=-1, keepdims=True)
        far = np.where(np.isfinite(t), np.abs(t), 0.0)
        shared = np.sum(truth * far, axis=-1, keepdims=True)
        relative = u * (2 * (far + shared) + 4 * _EXP_ULP + s.shape[-1] + 5)
        bound = truth * relative + ulp_of(truth * (1 + relative), fmt) / 2 + _named(compute).least_normal
        error = np.abs(p - truth)
        ratio = np.where(error == 0, 0.0, error / bound)
        both = np.isnan(truth) & np.isnan(p)
        wrong = ~((ratio <= 1) | both)
        worst_sum = float(np.max(np.abs(np.sum(p, axis=-1) - 1), initial=0.0))
    rows = np.argwhere(wrong.any(axis=-1))
    places = tuple(tuple(int(i) for i in row) for row in rows[:8])
    return SoftmaxCheck(not places, places, worst_sum, float(np.max(np.where(both, 0.0, ratio), initial=0.0)))


def check_sum(x: Any, y: Any, *, axis: int = -1, mean: bool = False, **how: Any) -> ProductCheck:
    """y = sum (or mean) of x along one axis: a row of ones times x. Faults name the column, an element of y."""
    x, y = host(x), host(y)
    moved = np.moveaxis(x, axis, 0)
    rows = moved.reshape(moved.shape[0], -1)
    ones = np.ones((1, rows.shape[0]), rows.dtype)
    return check_product(ones, rows, y.reshape(1, -1), alpha=1.0 / rows.shape[0] if mean else 1.0, **how)


def check_all_reduce(parts: Sequence[Any], out: Any, *, mean: bool = False, **how: Any) -> ProductCheck:
    """out = sum (or mean) of one array of each rank, in any order: the checksum before is the checksum after."""
    stacked = np.stack([host(part) for part in parts])
    return check_sum(stacked, out, axis=0, mean=mean, **how)


def check_lookup(table: Any, index: Any, out: Any) -> tuple[int, ...] | None:
    """out = table[index], bit for bit: the place of the first row that differs, None where all are right.

    Rows are compared by a checksum of their bits, a sum with odd random weights modulo 2^64: a row with one wrong
    element is always found, any wrong row but for a probability below 2^-31.
    """
    table, index, out = host(table), np.asarray(host(index)), host(out)
    if out.shape != (*index.shape, *table.shape[1:]) or out.dtype != table.dtype:
        raise UsageError(f"a look-up of {index.shape} in {table.shape} does not have shape {out.shape} of {out.dtype}")
    # Wider elements count as two: of errors in the top bits of 64 an even number would always cancel.
    kind = np.dtype(f"u{min(4, table.dtype.itemsize)}")
    width = int(np.prod(table.shape[1:])) * (table.dtype.itemsize // kind.itemsize)
    import secrets

    r = np.random.default_rng(secrets.randbits(63)).integers(0, 2**64, width, dtype=np.uint64) | np.uint64(1)
    with np.errstate(over="ignore"):
        before = np.ascontiguousarray(table).view(kind).reshape(table.shape[0], width).astype(np.uint64) @ r
        after = np.ascontiguousarray(out).view(kind).reshape(-1, width).astype(np.uint64) @ r
    wrong = np.flatnonzero(before[index.reshape(-1)] != after)
    if not wrong.size:
        return None
    return tuple(int(i) for i in np.unravel_index(int(wrong[0]), index.shape))


def _format_of(x: Array) -> Any:
    return STORED[x.dtype.name]


def _named(name: str) -> Any:
    from kernel_contracts.formats import find

    found = find(name)
    if found is None or not found.is_real:
        raise UsageError(f"{name!r} is no real number format; use fp32, fp64, fp16 or bf16")
    return found

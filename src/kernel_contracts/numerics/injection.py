"""Faults of hardware and of kernels, planted in a right product: what a verifier must find.

Bit flips by place and position, stuck lanes, patterns that repeat with the warp, a lost slice of the sum, a swapped
tile, a stale row, another rounding, a narrower accumulator. Each returns a new array and says what it did; nothing here
is random but through the generator that it is given.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kernel_contracts.errors import UsageError
from kernel_contracts.formats import STORED, Format, find
from kernel_contracts.numerics.rounding import round_to, to_storage, ulp_of

Array = NDArray[Any]
WARP = 32


@dataclass(frozen=True, slots=True)
class Injected:
    """A product with a fault."""

    value: Array
    fault: str
    detail: str
    rows: tuple[int, ...]
    """Rows that differ, the first hundred of them."""
    changed: int
    """Elements that differ, by their bits."""


@dataclass(frozen=True, slots=True)
class Product:
    """A right product (2-D) and what it was made from, for faults of the sum."""

    c: Array
    a: Array | None = None
    b: Array | None = None

    def operands(self, fault: str) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """A and B in float64. Raises UsageError where they were not given."""
        if self.a is None or self.b is None:
            raise UsageError(f"{fault} is a fault of the sum: give the operands too")
        return np.asarray(self.a, np.float64), np.asarray(self.b, np.float64)


Plant = Callable[[Product, np.random.Generator, int | None], tuple[Array, str]]


def _place(c: Array, rng: np.random.Generator) -> tuple[int, int]:
    return int(rng.integers(c.shape[0])), int(rng.integers(c.shape[1]))


def _bit_flip(p: Product, rng: np.random.Generator, bit: int | None) -> tuple[Array, str]:
    out, (i, j) = p.c.copy(), _place(p.c, rng)
    width = 8 * out.dtype.itemsize
    bit = int(rng.integers(width)) if bit is None else bit
    if not 0 <= bit < width:
        raise UsageError(f"bit {bit}: an element has bits 0 to {width - 1}")
    kind = np.dtype(f"u{out.dtype.itemsize}")
    out.view(kind)[i, j] ^= kind.type(1 << bit)
    return out, f"bit {bit} ({part_of(bit, out.dtype)}) of row {i}, column {j}"


def part_of(bit: int, dtype: np.dtype[Any]) -> str:
    """Where a bit lies: sign, exponent or mantissa."""
    fmt = _format(dtype)
    if not fmt.is_real:
        return "integer"
    if bit == 8 * dtype.itemsize - 1:
        return "sign"
    return "exponent" if bit >= fmt.precision - 1 else "mantissa"


def _stuck_lane(p: Product, rng: np.random.Generator, _: int | None) -> tuple[Array, str]:
    out, (i, j) = p.c.copy(), _place(p.c, rng)
    lane = j % WARP
    out[i, lane::WARP] = out[i, j]
    return out, f"lane {lane} of {WARP} holds one value along row {i}"


def _warp_periodic(p: Product, rng: np.random.Generator, _: int | None) -> tuple[Array, str]:
    out, (i, j) = p.c.copy(), _place(p.c, rng)
    lane = j % WARP
    kind = np.dtype(f"u{out.dtype.itemsize}")
    bit = _format(out.dtype).precision - 3 if _format(out.dtype).is_real else 3
    out.view(kind)[i, lane::WARP] ^= kind.type(1 << max(bit, 0))
    return out, f"bit {max(bit, 0)} of every {WARP}th column from {lane} on, row {i}"


def _slice_dropped(p: Product, rng: np.random.Generator, size: int | None) -> tuple[Array, str]:
    a, b = p.operands("slice_dropped")
    k = a.shape[1]
    size = min(k, size or max(1, min(32, k // 4)))
    start, i = int(rng.integers(0, max(1, k // size))) * size, int(rng.integers(p.c.shape[0]))
    out = p.c.copy()
    lost = a[i, start : start + size] @ b[start : start + size]
    out[i] = _stored(np.asarray(out[i], np.float64) - lost, out.dtype)
    return out, f"terms {start} to {min(k, start + size) - 1} of row {i} are not added"


def _tile_swapped(p: Product, rng: np.random.Generator, size: int | None) -> tuple[Array, str]:
    m, n = p.c.shape
    t = min(size or 16, m // 2, n // 2)
    if t < 1:
        raise UsageError("tile_swapped needs a product of two rows and two columns or more")
    out = p.c.copy()
    i, j = int(rng.integers(0, m // t - 1 + (m // t < 2))) * t, int(rng.integers(0, n // t - 1 + (n // t < 2))) * t
    other_i, other_j = (i + t) % (m - t + 1), (j + t) % (n - t + 1)
    one, two = (slice(i, i + t), slice(j, j + t)), (slice(other_i, other_i + t), slice(other_j, other_j + t))
    out[one], out[two] = p.c[two], p.c[one]
    return out, f"{t}x{t} tiles at ({i}, {j}) and ({other_i}, {other_j}) are exchanged"


def _row_stale(p: Product, rng: np.random.Generator, _: int | None) -> tuple[Array, str]:
    if p.c.shape[0] < 2:
        raise UsageError("row_stale needs two rows or more")
    i, j = (int(x) for x in rng.choice(p.c.shape[0], 2, replace=False))
    out = p.c.copy()
    out[i] = p.c[j]
    return out, f"row {i} still holds row {j}"


def _rounding_changed(p: Product, rng: np.random.Generator, _: int | None) -> tuple[Array, str]:
    a, b = p.operands("rounding_changed")
    fmt = _format(p.c.dtype)
    exact = a @ b
    nearest = round_to(exact, fmt)
    with np.errstate(invalid="ignore", over="ignore"):
        above = np.abs(nearest) > np.abs(exact)
        cut = np.where(above, nearest - np.copysign(ulp_of(nearest, fmt), nearest), nearest)
    return _stored(cut, p.c.dtype), f"every element is cut to {fmt.name}, not rounded"


def _accumulator_narrowed(p: Product, rng: np.random.Generator, bits: int | None) -> tuple[Array, str]:
    a, b = p.operands("accumulator_narrowed")
    fmt = find(f"acc{bits or 11}")
    if fmt is None:
        raise UsageError(f"an accumulator of {bits} bits: give 2 to 53")
    total = np.zeros(p.c.shape)
    for k in range(a.shape[1]):
        total = round_to(total + a[:, k : k + 1] * b[k : k + 1], fmt)
    return _stored(total, p.c.dtype), f"sums are kept to {fmt.precision} bits"


def _scaled(p: Product, rng: np.random.Generator, _: int | None) -> tuple[Array, str]:
    a, b = p.operands("scale_wrong")
    factor = 1 + _format(p.c.dtype).u
    return _stored(a @ b * factor, p.c.dtype), f"every element is {factor:.9g} times too large"


FAULTS: dict[str, Plant] = {
    "bit_flip": _bit_flip,
    "lane_stuck": _stuck_lane,
    "warp_periodic": _warp_periodic,
    "slice_dropped": _slice_dropped,
    "tile_swapped": _tile_swapped,
    "row_stale": _row_stale,
    "rounding_changed": _rounding_changed,
    "accumulator_narrowed": _accumulator_narrowed,
    "scale_wrong": _scaled,
}
"""Every fault by name. The third argument of each is its number: a bit, a length, a width; None draws one."""

NEEDS_OPERANDS = frozenset({"slice_dropped", "rounding_changed", "accumulator_narrowed", "scale_wrong"})


def inject(fault: str, c: Any, *, a: Any = None, b: Any = None, number: int | None = None, seed: int = 0) -> Injected:
    """Plant a fault in the product c (m, n). `number` is the bit, the length of the slice or tile, or the bits kept.

    Raises UsageError for an unknown fault, a number out of range, or operands that are missing.
    """
    if fault not in FAULTS:
        from kernel_contracts.language.diagnostics import did_you_mean

        hint = did_you_mean(fault, FAULTS) or f"there are {', '.join(FAULTS)}"
        raise UsageError(f"no fault is called {fault}; {hint}")
    given = np.ascontiguousarray(c)
    if given.ndim != 2 or not given.size:
        raise UsageError(f"a fault is planted in one matrix; this has shape {given.shape}")
    product = Product(given, None if a is None else np.asarray(a), None if b is None else np.asarray(b))
    value, detail = FAULTS[fault](product, np.random.default_rng(seed), number)
    kind = np.dtype(f"u{given.dtype.itemsize}")
    differs = value.view(kind) != given.view(kind)
    rows = tuple(int(r) for r in np.flatnonzero(differs.any(axis=1))[:100])
    return Injected(value, fault, detail, rows, int(differs.sum()))


def _format(dtype: np.dtype[Any]) -> Format:
    return STORED[dtype.name]


def _stored(x: NDArray[np.float64], dtype: np.dtype[Any]) -> Array:
    fmt = _format(dtype)
    return to_storage(x if fmt.is_real else np.rint(x), fmt)

"""What a wrong row looks like: the simplest defect that reproduces it, tried in a fixed order."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kernel_contracts.formats import BF16, FORMATS, FP16, STORED, Format
from kernel_contracts.numerics.freivalds.examine import ExactRow
from kernel_contracts.numerics.freivalds.model import Arithmetic
from kernel_contracts.numerics.freivalds.vectors import Vectors
from kernel_contracts.numerics.rounding import from_storage, round_to, ulp_of

Array = NDArray[np.float64]

FITS = 0.25
"""A defect is named when undoing it leaves at most this share of the row's error, in the Euclidean norm."""

STANDS_OUT = 8.0
"""Standard errors from which a common factor of a row is more than the scatter of its rounding."""


@dataclass(frozen=True, slots=True)
class Evidence:
    """The product that holds the row."""

    a: Any
    b: Any
    c: Any
    alpha: float
    arithmetic: Arithmetic
    sketch: Array
    """What C R should be, all rows."""
    vectors: Vectors
    unit: tuple[float, float] = (1.0, 1.0)
    """What A and B, and with them C, were scaled by."""

    def plain(self, value: float) -> float:
        """A value of the product without the scaling."""
        return value / self.unit[0] / self.unit[1]


def name(evidence: Evidence, row: ExactRow, suspicious: int) -> tuple[str, str]:
    """The name of the defect and a sentence with its numbers."""
    found = np.asarray(evidence.c[row.row], np.float64)
    if not found.any():
        return "zero_filled", f"row {row.row} is all zeros"
    if row.wrong.size == 1:
        return _single(evidence, row, found)
    for test in (_misplaced, _scaled, _slice, _columns_moved, _operands):
        hit = test(evidence, row, found)
        if hit is not None:
            return hit
    return _narrowed(evidence, row, found, suspicious)


def _single(evidence: Evidence, row: ExactRow, found: Array) -> tuple[str, str]:
    j = int(row.wrong[0])
    where = f"row {row.row}, column {j}: {evidence.plain(found[j]):.9g} for {evidence.plain(row.truth[j]):.9g}"
    bit = flipped_bit(evidence.c[row.row, j], float(row.truth[j]), float(row.bound[j]))
    if bit is not None:
        return "bit_flip", f"{where}, bit {bit[0]} ({bit[1]}) is flipped"
    return "wrong_value", f"{where}, honest within {evidence.plain(row.bound[j]):.2g}"


def flipped_bit(value: Any, truth: float, bound: float) -> tuple[int, str] | None:
    """The one bit whose flip brings the stored value back within its bound, and its part of the number."""
    stored = np.asarray(value)
    if stored.dtype.kind in "iub":
        return None
    kind = np.dtype(f"u{stored.dtype.itemsize}")
    bits = stored.reshape(1).view(kind)
    fits = []
    for bit in range(8 * stored.dtype.itemsize):
        with np.errstate(invalid="ignore"):
            undone = float(from_storage((bits ^ kind.type(1 << bit)).view(stored.dtype))[0])
        if abs(undone - truth) <= bound:
            fits.append((abs(undone - truth), bit))
    if not fits:
        return None
    bit = min(fits)[1]
    precision = STORED[stored.dtype.name].precision
    sign = 8 * stored.dtype.itemsize - 1
    return bit, "sign" if bit == sign else "exponent" if bit >= precision - 1 else "mantissa"


def _misplaced(evidence: Evidence, row: ExactRow, found: Array) -> tuple[str, str] | None:
    """The row is another row's: its image under R is that row's."""
    if evidence.vectors.values.shape[1] < 2 or len(evidence.vectors.blocks) > 1:
        return None
    image = found @ evidence.vectors.values
    distance = np.abs(evidence.sketch - image).max(axis=-1)
    distance[row.row] = np.inf
    other = int(np.argmin(distance))
    scale = float(np.abs(row.error @ evidence.vectors.values).max())
    if distance[other] <= 0.01 * scale:
        return "rows_swapped", f"row {row.row} holds row {other}"
    return None


def _scaled(evidence: Evidence, row: ExactRow, found: Array) -> tuple[str, str] | None:
    """The error is a multiple of the row."""
    size = float(row.truth @ row.truth)
    if size == 0 or row.truth.size < 4:
        return None
    factor = float(row.error @ row.truth) / size
    rest = row.error - factor * row.truth
    left = float(rest @ rest)
    clear = left <= FITS**2 * float(row.error @ row.error)
    if evidence.arithmetic.rounds_output:
        # The rounding of the output hides a small factor in each element; along the row it stands out of the scatter.
        clear = clear or abs(factor) * np.sqrt(size * row.truth.size) > STANDS_OUT * np.sqrt(left)
    if not clear:
        return None
    return "scale_wrong", f"row {row.row} is {1 + factor:.9g} times the product"


def _slice(evidence: Evidence, row: ExactRow, found: Array) -> tuple[str, str] | None:
    """Terms of the sum are missing or counted twice: a range of k explains the error."""
    terms = evidence.alpha * np.asarray(evidence.a[row.row], np.float64)
    k = terms.size
    images = np.asarray(evidence.b, np.float64) @ evidence.vectors.values[:, :1] if k <= 1 << 16 else None
    if images is None or len(evidence.vectors.blocks) > 1 or k < 2:
        return None
    partial = np.concatenate([[0.0], np.cumsum(terms * images[:, 0])])
    target = float(row.error @ evidence.vectors.values[:, 0])
    best: tuple[float, int, int, int] | None = None
    for size in sorted(
        {1 << s for s in range(k.bit_length()) if 1 << s < k} | {k % t for t in (4, 8, 16, 32, 64)} - {0}
    ):
        starts = np.asarray(sorted({*range(0, k - size + 1, size), k - size}))
        sums = partial[starts + size] - partial[starts]
        for sign in (-1, 1):
            gap = np.abs(target - sign * sums)
            at = int(np.argmin(gap))
            if best is None or gap[at] < best[0]:
                best = (float(gap[at]), int(starts[at]), size, sign)
    if best is None:
        return None
    _, start, size, sign = best
    piece = terms[start : start + size] @ np.asarray(evidence.b[start : start + size], np.float64)
    rest = row.error - sign * piece
    if float(rest @ rest) > FITS**2 * float(row.error @ row.error):
        return None
    word = "missing" if sign < 0 else "counted twice"
    kind = "tail_dropped" if sign < 0 and start + size == k else "slice_dropped" if sign < 0 else "slice_repeated"
    return kind, f"row {row.row}: terms {start} to {start + size - 1} of {k} are {word}"


def _columns_moved(evidence: Evidence, row: ExactRow, found: Array) -> tuple[str, str] | None:
    """A run of columns holds another place's values, or zeros, or one stuck value."""
    wrong = np.sort(row.wrong)
    if wrong.size < 2:
        return None
    values = found[wrong]
    if not values.any():
        return "zero_filled", f"row {row.row}: {wrong.size} columns from {wrong[0]} on are zero"
    if np.all(values == values[0]):
        return (
            "lane_stuck",
            f"row {row.row}: {wrong.size} columns from {wrong[0]} on are all {evidence.plain(values[0]):.6g}",
        )
    steps = np.diff(wrong)
    if wrong.size >= 4 and np.all(steps == steps[0]) and steps[0] > 1:
        return "periodic", f"row {row.row}: every {steps[0]}th column from {wrong[0]} on is wrong"
    if wrong.size < found.size and wrong[-1] - wrong[0] < 2 * wrong.size < found.size:
        return "tile_wrong", f"row {row.row}: {wrong.size} columns between {wrong[0]} and {wrong[-1]} are wrong"
    return None


def _operands(evidence: Evidence, row: ExactRow, found: Array) -> tuple[str, str] | None:
    """Operands were narrowed before they were multiplied."""
    a = np.asarray(evidence.a[row.row], np.float64)
    b = np.asarray(evidence.b, np.float64)
    exact = a @ b
    size = float(row.error @ row.error)
    for fmt in (FORMATS["tf32"], FP16, BF16):
        if fmt.precision >= min(_precision(evidence.a), _precision(evidence.b)):
            continue
        shift = evidence.alpha * (round_to(a, fmt) @ round_to(b, fmt) - exact)
        rest = row.error - shift
        if np.isfinite(rest).all() and float(rest @ rest) <= FITS**2 * size:
            return "operand_coerced", f"row {row.row} is the product of operands rounded to {fmt.name}"
    return None


def _narrowed(evidence: Evidence, row: ExactRow, found: Array, suspicious: int) -> tuple[str, str]:
    """Errors spread over the row: how many bits would explain them."""
    share = row.wrong.size / max(1, row.error.size)
    if share < 0.02 and not row.spread > row.spread_limit:
        return (
            "wrong_value",
            f"row {row.row}: {row.wrong.size} elements beyond their bound, the worst in column "
            + str(int(row.wrong[0])),
        )
    fmt = _stored_narrow(evidence, row, found)
    if fmt is not None:
        return "output_narrowed", f"row {row.row} holds nothing but values of {fmt.name}"
    a = np.asarray(evidence.a[row.row], np.float64)
    squares = (a * a) @ np.asarray(evidence.b, np.float64) ** 2
    k = a.size
    proxy = k / 3 * (row.truth / (evidence.alpha or 1.0)) ** 2 + (k / 6 + 1) * squares
    # Rounding errors spread evenly within +-u have variance u^2 / 3.
    size = np.sqrt(3 * np.mean(row.error**2) / np.mean(proxy)) / abs(evidence.alpha or 1.0)
    bits = max(0.0, -float(np.log2(size))) if size > 0 else 0.0
    declared = evidence.arithmetic.accumulator
    return (
        "accumulator_narrowed",
        f"row {row.row} errs like sums kept to about {bits:.0f} bits, {declared.precision} declared"
        + f"; {suspicious} suspicious rows" * bool(suspicious),
    )


def _stored_narrow(evidence: Evidence, row: ExactRow, found: Array) -> Format | None:
    """The narrower format that the row was rounded to once: its values alone, none off by more than that rounding."""
    for fmt in (BF16, FP16):
        if fmt.precision >= evidence.arithmetic.output.precision or not np.array_equal(round_to(found, fmt), found):
            continue
        if np.all(np.abs(row.error) <= ulp_of(row.truth, fmt) / 2 + row.bound):
            return fmt
    return None


def _precision(x: Any) -> int:
    return STORED[x.dtype.name].precision

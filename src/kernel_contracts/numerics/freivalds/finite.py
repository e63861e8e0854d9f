"""NaN and infinities: where they must be, where they may be, and a product without them for the screen."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kernel_contracts.numerics.freivalds.model import Arithmetic

Mask = NDArray[np.bool_]

LOOKED_AT = 256
"""Elements whose overflow is verified; a product that overflows in more is said to be unexamined there."""


@dataclass(frozen=True, slots=True)
class Special:
    """Elements that are not finite, judged; and what may go through the screen."""

    rows: Mask
    """Rows of A that hold NaN or an infinity."""
    columns: Mask
    """Columns of B that do."""
    lost: NDArray[np.intp]
    """(count, 2) places that must not be finite and are."""
    made: NDArray[np.intp]
    """(count, 2) places that are not finite although the product is and does not overflow."""
    overflowed: Mask
    """Rows that overflow somewhere, as they may: kept out of the screen."""
    unexamined: int
    """Elements that were not verified: overflows beyond `LOOKED_AT`, and what lies beside one in its row."""

    @property
    def faulty(self) -> bool:
        return self.lost.size > 0 or self.made.size > 0


def special(a: Any, b: Any, c: Any, added: Any, alpha: float, arithmetic: Arithmetic) -> Special:
    """Judge the elements of one product (m, K), (K, n), (m, n) that are not finite.

    One NaN or infinity in a row of A makes the whole row of the product not finite (0 x inf and inf - inf are NaN), and
    one in a column of B that column. Elsewhere an element may overflow where its exact value passes the output's range
    or the sum of magnitudes passes the accumulator's. `added(rows)` gives the rows added, in float64.
    """
    finite_c = np.isfinite(c.astype(np.float32) if c.dtype.itemsize < 4 else c)
    rows: Mask = np.asarray(~np.isfinite(np.asarray(a, np.float64)).all(axis=1))
    columns: Mask = np.asarray(~np.isfinite(np.asarray(b, np.float64)).all(axis=0))
    expected = (rows[:, None] | columns[None, :]) if alpha != 0 else np.zeros(c.shape, bool)
    plus = np.broadcast_to(~np.isfinite(added(np.arange(c.shape[0]))[0]), c.shape)
    expected = expected | plus
    lost = np.argwhere(expected & finite_c)
    extra = np.argwhere(~finite_c & ~expected)
    looked = extra if len(extra) <= LOOKED_AT else extra[np.linspace(0, len(extra) - 1, LOOKED_AT).astype(np.intp)]
    made = np.asarray([place for place in looked if not _may_overflow(a, b, added, alpha, arithmetic, place)])
    overflowed = np.zeros(c.shape[0], bool)
    overflowed[extra[:, 0]] = True
    overflowed[np.flatnonzero(plus.any(axis=1))] = True
    beside = int((finite_c & ~expected)[overflowed].sum())
    unexamined = len(extra) - len(looked) + beside
    return Special(rows, columns, lost, made.reshape(-1, 2).astype(np.intp), overflowed, unexamined)


def _may_overflow(a: Any, b: Any, added: Any, alpha: float, arithmetic: Arithmetic, place: Any) -> bool:
    i, j = int(place[0]), int(place[1])
    x, y = np.asarray(a[i], np.float64), np.asarray(b[:, j], np.float64)
    # Scaled by powers of two, so that the float64 of the check does not overflow with an fp64 product.
    ex, ey = int(np.frexp(np.max(np.abs(x), initial=0))[1]), int(np.frexp(np.max(np.abs(y), initial=0))[1])
    x, y = np.ldexp(x, -ex), np.ldexp(y, -ey)
    plus, plus_size = added(np.asarray([i]))
    columns = j if plus.shape[-1] > 1 else 0
    extra = float(plus_size[0, columns])
    size = float(np.abs(x) @ np.abs(y))

    def past(value: float, top: float) -> bool:
        # value 2^(ex + ey) + extra >= top, compared without forming the left side
        top = min(top, float(np.finfo(np.float64).max))  # the threshold of fp64 is beyond float64
        with np.errstate(over="ignore"):
            return value >= float(np.ldexp(max(top - extra, 0.0), -(ex + ey)))

    slack = 1 + (x.size + 4) * arithmetic.accumulator.u
    return past(max(abs(alpha), 1.0) * size * slack, arithmetic.accumulator.overflow_threshold) or past(
        (abs(alpha) * abs(float(x @ y)) + size * (slack - 1)) * slack, arithmetic.output.overflow_threshold
    )

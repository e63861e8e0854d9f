"""Which answers are right: for each output element an interval of extended reals, and how a candidate compares.

Decided before any distance is computed: NaN is never a pass, an infinity is right only where the interval reaches
it. The ratio |y - y*| / tolerance is at most 1 exactly where the answer is admitted.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from kernel_contracts.formats import Format
from kernel_contracts.numerics.bounded import Array, Bounded
from kernel_contracts.numerics.rounding import round_to, ulp_of

_JUST_ABOVE = 1.0 + 2.0**-40
_BLOCK = 1 << 14
"""Elements compared at once: what is made on the way stays in the cache."""


@dataclass(frozen=True, slots=True)
class Acceptance:
    """The oracle `center` and the admitted interval of one output. All arrays have the output's shape.

    The interval is held as offsets from the center, so that a float64 answer one ulp off is told apart exactly.
    """

    format: Format
    center: Array
    below: Array
    """Least admitted y - center; -inf where minus infinity is admitted."""
    above: Array
    """Largest admitted y - center."""
    free: Array
    """Elements where every answer is admitted."""
    tolerance: Array
    """The denominator of the ratio: the radius, and half a spacing of the output's format where it rounds."""
    admissible: Callable[[Array], Array] | None = None

    @property
    def exact(self) -> Array:
        """Elements that admit exactly one value."""
        return np.asarray((self.below == self.above) & ~self.free)

    def ratios(self, y: Array) -> Array:
        """|y - y*| / tolerance, above 1 exactly where `y` is not admitted; 0/0 is 0, NaN is infinite."""
        if self.format.kind != "real":
            wrong = np.asarray(y != self.center)
            right = self.free if self.admissible is None else self.free & self.admissible(y)
            return np.where(wrong & ~right, np.inf, 0.0)
        parts = [np.asarray(a) for a in (y, self.center, self.below, self.above, self.tolerance, self.free)]
        flat = _flat(parts, parts[0].shape)
        out = np.empty(flat[0].size)
        with np.errstate(invalid="ignore", divide="ignore", over="ignore"):
            for some in _blocks(out.size):
                out[some] = _ratios(*(part[some] for part in flat))
        return out.reshape(parts[0].shape)

    def within(self, below: Array, above: Array) -> Acceptance:
        """Both this and another interval must hold."""
        tolerance = np.minimum(self.tolerance, np.maximum(np.maximum(above, -below), 0.0))
        return replace(
            self, below=np.maximum(self.below, below), above=np.minimum(self.above, above), tolerance=tolerance
        )


def _ratios(y: Array, center: Array, below: Array, above: Array, tolerance: Array, free: Array) -> Array:
    offset = np.asarray(y - center, dtype=np.float64)
    inside = offset >= below
    inside &= offset <= above
    ratio = np.abs(offset)
    same, largest = ratio == 0, ratio.max()
    ratio /= tolerance
    ratio[same] = 0.0
    if not np.isfinite(largest) or np.isnan(ratio.max()):  # NaN or an infinity among them
        inside = np.where(np.isinf(center), y == center, inside)
        ratio[np.isnan(ratio) | np.isinf(y)] = np.inf
        ratio = np.where(inside, np.where(np.isinf(y), 0.0, np.minimum(ratio, 1.0)), np.maximum(ratio, _JUST_ABOVE))
    elif inside.all():
        np.minimum(ratio, 1.0, out=ratio)
    else:
        ratio = np.where(inside, np.minimum(ratio, 1.0), np.maximum(ratio, _JUST_ABOVE))
    ratio[free] = 0.0
    return ratio


def from_bounded(
    before: Bounded, format: Format, *, rounded: bool, center: tuple[Array, Array] | None = None, flush: bool = False
) -> Acceptance:
    """What a `Bounded` result admits once held in `format`.

    `rounded` says that the program ends in round(x, format) and `before` is x: the admitted answers are then the
    roundings of everything in [v - e, v + e], a tighter set than [v - e - u|v|, v + e + u|v|]. `center` replaces the
    float64 value by a more precise one, as an unevaluated sum.
    """
    if format.kind != "real":
        v = np.asarray(before.v)
        free = np.broadcast_to(before.radius() > 0, v.shape)
        nothing = np.zeros(v.shape)
        return Acceptance(format, v, nothing, nothing, free, nothing, before.admissible)
    v, rest = center if center is not None else (np.asarray(before.v, dtype=np.float64), np.zeros(np.shape(before.v)))
    e = np.asarray(before.radius())
    shape = np.broadcast_shapes(v.shape, e.shape)
    values, rests, radii = _flat((v, rest, e), shape)
    below, above, tolerance = (np.empty(values.size) for _ in range(3))
    free = np.empty(values.size, dtype=bool)
    for some in _blocks(free.size):
        below[some], above[some], free[some], tolerance[some] = _ends(
            values[some], rests[some], radii[some], format, rounded=rounded, flush=flush
        )
    return Acceptance(
        format, v, below.reshape(shape), above.reshape(shape), free.reshape(shape), tolerance.reshape(shape)
    )


def _ends(
    v: Array, rest: Array, e: Array, format: Format, *, rounded: bool, flush: bool
) -> tuple[Array, Array, Array, Array]:
    """Least and largest offset, what is free, and the tolerance."""
    free = np.isinf(e) | np.isnan(v)
    with np.errstate(invalid="ignore", over="ignore"):
        radius = np.where(free, 0.0, e) + (format.least_normal if flush else 0.0)
        below, above = rest - radius, rest + radius
        tolerance = np.where(free, np.inf, radius)
        if rounded:
            tolerance = tolerance + ulp_of(v, format) / 2
            # outwards: the ends are computed, and a tie must not hide the number behind it
            low = np.where(radius > 0, np.nextafter(v + below, -np.inf), v + below)
            high = np.where(radius > 0, np.nextafter(v + above, np.inf), v + above)
            low, high = round_to(low, format), round_to(high, format)
            free |= np.isnan(low) | np.isnan(high)
            below, above = low - v, high - v
        settled = np.isinf(v)
        below, above = np.where(settled, 0.0, below), np.where(settled, 0.0, above)
    return below, above, free, tolerance


def _flat(arrays: Sequence[Array], shape: tuple[int, ...]) -> list[Array]:
    """The arrays in this shape, as vectors."""
    return [(a if a.shape == shape else np.broadcast_to(a, shape)).reshape(-1) for a in arrays]


def _blocks(size: int) -> Iterator[slice]:
    return (slice(start, start + _BLOCK) for start in range(0, size, _BLOCK))

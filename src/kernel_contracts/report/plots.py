"""Pictures as geometry: points and bars in plain coordinates, which a template writes as SVG.

Colours are left to the page's style, so that one picture serves paper, light and dark.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from kernel_contracts.report.measured import Call

WIDTH, HEIGHT = 300.0, 170.0
_LEFT, _RIGHT, _TOP, _BOTTOM = 46.0, 10.0, 12.0, 30.0
_POINTS = 96
"""Calls in one picture at most: failing ones and the largest ratios first."""
_TOLD = 16
"""Of those, the ones that say what they are when pointed at."""


@dataclass(frozen=True, slots=True)
class Tick:
    at: float
    text: str


@dataclass(frozen=True, slots=True)
class Mark:
    """One call: its error, what was permitted, and a sentence."""

    x: float
    y: float
    bound: float | None
    """Height of the permitted error; None where only the exact answer is right."""
    fails: bool
    text: str
    """Empty where it goes without saying."""


@dataclass(frozen=True, slots=True)
class ErrorPlot:
    dim: str
    marks: tuple[Mark, ...]
    xs: tuple[Tick, ...]
    ys: tuple[Tick, ...]
    left: float
    right: float
    top: float
    bottom: float
    said: str


@dataclass(frozen=True, slots=True)
class Frame:
    """The axes that the platforms of one contract share: logarithmic, with a place for zero and one for infinity."""

    dim: str
    low: int
    high: int
    least: int
    most: int
    """Powers of ten of the errors."""
    zero: bool
    infinite: bool

    def x(self, n: int) -> float:
        a, b = math.log2(max(self.low, 1)), math.log2(max(self.high, 1))
        share = 0.5 if a == b else (math.log2(max(n, 1)) - a) / (b - a)
        return _LEFT + 10 + share * (WIDTH - _LEFT - _RIGHT - 20)

    def y(self, value: float) -> float:
        top = _TOP + (14.0 if self.infinite else 0.0)
        bottom = HEIGHT - _BOTTOM - (14.0 if self.zero else 0.0)
        if value == 0:
            return HEIGHT - _BOTTOM
        if not math.isfinite(value):
            return _TOP
        share = (math.log10(value) - self.least) / max(self.most - self.least, 1)
        return bottom - min(max(share, 0.0), 1.0) * (bottom - top)


def frame(calls: Sequence[Call], dim: str = "") -> Frame | None:
    """Axes for these calls; None where no trace holds an error. `dim`: the size to draw against, else the one with
    the most values."""
    known = [c for c in calls if c.residual is not None and c.dims]
    if not known:
        return None
    names = list(dict.fromkeys(n for c in known for n in c.dims))
    if dim not in names:
        dim = max(names, key=lambda n: len({c.dims.get(n) for c in known}))
    sizes = [c.dims[dim] for c in known if dim in c.dims]
    values = [v for c in known for v in (c.residual, c.tolerance) if v is not None]
    powers = [math.log10(v) for v in values if v > 0 and math.isfinite(v)]
    least, most = (math.floor(min(powers)), math.ceil(max(powers))) if powers else (-1, 0)
    zero = any(v == 0 for v in values)
    infinite = any(not math.isfinite(c.residual or 0.0) for c in known)
    return Frame(dim, min(sizes), max(sizes), least, max(most, least + 1), zero, infinite)


def error_plot(calls: Sequence[Call], axes: Frame) -> ErrorPlot | None:
    """The error of each call against a size, and the bound that was derived for it."""
    known = [c for c in calls if c.residual is not None and axes.dim in c.dims]
    if not known:
        return None
    known.sort(key=lambda c: (not c.fails, -c.ratio))
    shown, seen = known[:_POINTS], Counter[int]()
    beside = Counter(c.dims[axes.dim] for c in shown)
    told = {id(c) for c in shown[:_TOLD]}
    marks = []
    for c in sorted(shown, key=lambda c: (c.tolerance or 0.0, c.ratio)):
        n = c.dims[axes.dim]
        step = min(5.0, 18.0 / max(beside[n] - 1, 1))  # calls of one size stand side by side
        x = axes.x(n) + (seen[n] - (beside[n] - 1) / 2) * step
        seen[n] += 1
        assert c.residual is not None
        bound = None if not c.tolerance or not math.isfinite(c.tolerance) else axes.y(c.tolerance)
        text = _said(c) if id(c) in told else ""
        marks.append(Mark(_r(x), _r(axes.y(c.residual)), None if bound is None else _r(bound), c.fails, text))
    failing = sum(c.fails for c in known)
    left_out = f" ({len(known) - len(shown)} calls closer to exact are not drawn)" if len(known) > len(shown) else ""
    said = f"Error against {axes.dim} of {len(known)} calls, {failing} of them outside the bound{left_out}."
    return ErrorPlot(
        axes.dim, tuple(marks), _sizes(axes), _powers(axes), _LEFT, WIDTH - _RIGHT, _TOP, HEIGHT - _BOTTOM, said
    )


def _said(c: Call) -> str:
    allowed = "only the exact answer" if not c.tolerance else f"{c.tolerance:.2g} permitted"
    return f"{c.inputs}: error {c.residual:.2g}, {allowed}"


def _r(x: float) -> float:
    return round(x, 1)


def _sizes(axes: Frame) -> tuple[Tick, ...]:
    a, b = math.floor(math.log2(max(axes.low, 1))), math.floor(math.log2(max(axes.high, 1)))
    step = max(1, -(-(b - a) // 5))
    powers = [2**k for k in range(a, b + 1, step) if axes.low <= 2**k <= axes.high]
    return tuple(Tick(_r(axes.x(n)), str(n)) for n in (powers or [axes.low]))


_SUPERSCRIPT = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")


def _powers(axes: Frame) -> tuple[Tick, ...]:
    step = max(1, -(-(axes.most - axes.least) // 4))
    ticks = [
        Tick(_r(axes.y(10.0**k)), "10" + str(k).translate(_SUPERSCRIPT)) for k in range(axes.least, axes.most, step)
    ]
    if axes.zero:
        ticks.insert(0, Tick(_r(axes.y(0.0)), "0"))
    if axes.infinite:
        ticks.append(Tick(_r(axes.y(math.inf)), "∞"))
    return tuple(ticks)


_EDGES = (0.001, 0.01, 0.03, 0.1, 0.2, 0.4, 0.6, 0.8, 1.0, 3.0, 10.0, 100.0, 10000.0)
_LABELS = {0: "0", 3: "0.01", 5: "0.1", 10: "1", 13: "100"}
"""Of a bin, what stands at its left end; of the first one, in its middle."""
_BARS = len(_EDGES) + 2


@dataclass(frozen=True, slots=True)
class Bar:
    x: float
    y: float
    width: float
    height: float
    fails: bool
    text: str


@dataclass(frozen=True, slots=True)
class Histogram:
    bars: tuple[Bar, ...]
    xs: tuple[Tick, ...]
    one: float
    """Where the bound lies."""
    most: int
    top: float
    bottom: float
    left: float
    right: float
    said: str


def histogram(calls: Sequence[Call]) -> Histogram | None:
    """How the ratios of the calls are spread: exact, within the bound in unequal steps, outside of it."""
    if not calls:
        return None
    counts = [0] * _BARS
    for c in calls:
        counts[_bin(c.ratio)] += 1
    most = max(counts)
    left, right = 12.0, WIDTH - 12.0
    step = (right - left) / _BARS
    top, bottom = _TOP + 8, HEIGHT - _BOTTOM
    bars = []
    for k, n in enumerate(counts):
        if n:
            tall = max(2.0, n / most * (bottom - top))
            bars.append(
                Bar(
                    _r(left + k * step + 1),
                    _r(bottom - tall),
                    _r(step - 2),
                    _r(tall),
                    k > _ONE,
                    f"{n} calls {_range(k)}",
                )
            )
    ticks = tuple(Tick(_r(left + (k + (0.5 if k == 0 else 0.0)) * step), text) for k, text in _LABELS.items())
    outside = sum(counts[_ONE + 1 :])
    within = sum(counts[1 : _ONE + 1])
    said = f"Share of the bound used: {counts[0]} calls exact, {within} within the bound, {outside} outside."
    return Histogram(tuple(bars), ticks, _r(left + (_ONE + 1) * step), most, top, bottom, left, right, said)


_ONE = 1 + _EDGES.index(1.0)
"""The last bin within the bound."""


def _bin(ratio: float) -> int:
    """0 for exact, then one bin for each edge that the ratio does not exceed, one for what exceeds all."""
    if ratio <= 0:
        return 0
    return next((k for k, edge in enumerate(_EDGES, 1) if ratio <= edge), len(_EDGES) + 1)


def _range(k: int) -> str:
    if k == 0:
        return "exact"
    low = f"above {_EDGES[k - 2]:g}" if k >= 2 else ""
    high = f"up to {_EDGES[k - 1]:g}" if k <= len(_EDGES) else ""
    return " and ".join(x for x in (low, high) if x) + " of the bound"

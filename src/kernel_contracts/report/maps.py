"""Pictures of one output and of one sum: where its error lies, and the order in which it was added."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from kernel_contracts.report.measured import Call
from kernel_contracts.report.plots import WIDTH

SHADES = (0.0, 0.1, 0.3, 0.6, 1.0, 100.0)
"""Upper ends of the shades; the last two are outside the bound."""


@dataclass(frozen=True, slots=True)
class HeatMap:
    shades: tuple[tuple[int, str], ...]
    """Of each shade that occurs, its number and one path over its blocks, in elements."""
    width: float
    height: float
    """Of the picture."""
    plane: tuple[int, int]
    blocks: tuple[int, int]
    said: str
    of: Call


def heat_map(calls: Sequence[Call]) -> HeatMap | None:
    """Where in the output the error lies, for the call that shows it best: the worst, and among equals the largest."""
    mapped = [c for c in calls if c.map]
    if not mapped:
        return None
    call = max(mapped, key=lambda c: (c.fails, len(c.map) * len(c.map[0]), c.ratio))
    rows, columns = (_edges(n, b) for n, b in zip(call.plane, call.blocks, strict=True))
    if len(rows) != len(call.map) + 1 or any(len(columns) != len(row) + 1 for row in call.map):
        return None
    width, height = _fit(call.plane)
    paths: dict[int, list[str]] = {}
    wrong = 0
    for i, row in enumerate(call.map):
        for j, ratio in enumerate(row):
            wide, tall = columns[j + 1] - columns[j], rows[i + 1] - rows[i]
            paths.setdefault(_shade(ratio), []).append(f"M{columns[j]} {rows[i]}h{wide}v{tall}h-{wide}z")
            wrong += not ratio <= 1
    total = len(call.map) * len(call.map[0])
    size = "×".join(map(str, call.plane)) if call.plane[0] > 1 else str(call.plane[1])
    said = (
        f"Error over the {size} elements of {call.output or 'the output'}: {wrong} of {total} blocks outside the bound."
    )
    shades = tuple((k, "".join(paths[k])) for k in sorted(paths))
    return HeatMap(shades, width, height, call.plane, call.blocks, said, call)


def _edges(n: int, block: int) -> list[int]:
    return [*range(0, n, max(block, 1)), n]


def _fit(plane: tuple[int, int]) -> tuple[float, float]:
    """A picture of the output's proportions, within limits: a thin output stays visible."""
    rows, columns = plane
    ratio = min(max(rows / max(columns, 1), 0.08), 1.6)
    return (130.0 / ratio, 130.0) if ratio > 0.5 else (240.0, max(18.0, 240.0 * ratio))


def _shade(ratio: float) -> int:
    if not ratio <= SHADES[-1]:
        return len(SHADES)
    return next(k for k, edge in enumerate(SHADES) if ratio <= edge)


@dataclass(frozen=True, slots=True)
class TreePlot:
    path: str
    width: float
    height: float
    terms: int
    depth: int
    name: str
    said: str


def tree_plot(calls: Sequence[Call]) -> TreePlot | None:
    """The order of additions: terms at the top, each addition below what it adds, the result at the bottom."""
    call = next((c for c in calls if c.tree), None)
    if call is None:
        return None
    steps = call.tree
    n = sum(map(len, steps)) - len(steps) + 1
    depth = [0] * n
    for step in steps:
        depth.append(1 + max(depth[c] for c in step))
    place = _places(steps, n)
    width, height = WIDTH, 120.0
    dx, dy = (width - 8) / max(n - 1, 1), (height - 10) / max(depth[-1], 1)
    path = []
    for k, step in enumerate(steps, n):
        y = _r(4 + depth[k] * dy)
        for c in step:
            x, top = _r(4 + place[c] * dx), _r(4 + depth[c] * dy)
            path.append(f"M{x:g} {top:g}V{y:g}")
        ends = [_r(4 + place[c] * dx) for c in step]
        path.append(f"M{min(ends):g} {y:g}H{max(ends):g}")
    said = f"Order in which {n} terms are added: {call.order}, depth {depth[-1]}."
    return TreePlot("".join(path), width, height, n, depth[-1], call.order, said)


def _places(steps: Sequence[Sequence[int]], n: int) -> list[float]:
    """Terms in the order in which the tree meets them, so that no two lines cross; a sum in the middle of its parts."""
    place = [0.0] * (n + len(steps))
    stack, met = [n + len(steps) - 1], 0
    while stack:
        node = stack.pop()
        if node < n:
            place[node] = float(met)
            met += 1
        else:
            stack.extend(reversed(steps[node - n]))
    for k, step in enumerate(steps, n):
        place[k] = sum(place[c] for c in step) / len(step)
    return place


def _r(x: float) -> float:
    return round(x, 1)

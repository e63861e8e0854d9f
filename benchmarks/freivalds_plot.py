"""A plain picture of curves, without a plotting library."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

WIDTH, HEIGHT, MARGIN = 640, 360, 56
COLOURS = ("#1f5fa8", "#c0392b", "#2e8b57", "#8e44ad", "#d68910", "#17a2b8", "#7f8c8d", "#6e2c00", "#e83e8c")


def curves_svg(curves: Mapping[str, Sequence[Sequence[float]]], x_name: str, y_name: str) -> str:
    """Curves of (x, y), x logarithmic, y from 0 to 1, as an SVG document."""
    xs = [math.log10(point[0]) for curve in curves.values() for point in curve]
    low, high = math.floor(min(xs)), math.ceil(max(xs))

    def place(x: float, y: float) -> tuple[float, float]:
        across = (math.log10(x) - low) / (high - low)
        return MARGIN + across * (WIDTH - 2 * MARGIN), HEIGHT - MARGIN - y * (HEIGHT - 2 * MARGIN)

    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{HEIGHT}" font-family="sans-serif" '
        f'font-size="12"><rect width="{WIDTH}" height="{HEIGHT}" fill="white"/>'
    ]
    for exponent in range(low, high + 1):
        x, y = place(10.0**exponent, 0)
        parts.append(f'<line x1="{x:.1f}" y1="{y:.1f}" x2="{x:.1f}" y2="{MARGIN}" stroke="#ddd"/>')
        parts.append(f'<text x="{x:.1f}" y="{y + 16:.1f}" text-anchor="middle">1e{exponent}</text>')
    for tenth in range(0, 11, 2):
        x, y = place(10.0**low, tenth / 10)
        parts.append(f'<line x1="{x:.1f}" y1="{y:.1f}" x2="{WIDTH - MARGIN}" y2="{y:.1f}" stroke="#ddd"/>')
        parts.append(f'<text x="{x - 6:.1f}" y="{y + 4:.1f}" text-anchor="end">{tenth / 10:g}</text>')
    for colour, (name, curve), at in zip(COLOURS, curves.items(), range(len(curves)), strict=False):
        points = " ".join("{:.1f},{:.1f}".format(*place(*point)) for point in curve)
        parts.append(f'<polyline points="{points}" fill="none" stroke="{colour}" stroke-width="2"/>')
        parts.append(f'<text x="{MARGIN + 10}" y="{MARGIN + 16 + 16 * at}" fill="{colour}">{name}</text>')
    parts.append(f'<text x="{WIDTH / 2}" y="{HEIGHT - 16}" text-anchor="middle">{x_name}</text>')
    parts.append(f'<text x="{MARGIN}" y="{MARGIN - 16}">{y_name}</text></svg>')
    return "\n".join(parts) + "\n"

"""Draws the error plots and histograms of a report of 50 contracts on 5 stacks by plotting libraries instead.

Each library that is installed writes SVG with text as text and with colours that a style sheet can change, as the page
needs them; its time and size stand beside those of the page's own templates.

python benchmarks/report_plotting.py   (with matplotlib, and with altair and vl-convert-python)
"""

from __future__ import annotations

import importlib.util
import io
import json
import re
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from kernel_contracts.conformance.gathering import gather
from kernel_contracts.report.measured import Call
from kernel_contracts.report.page import report_page
from kernel_contracts.report.plots import Frame, Histogram, frame, histogram

sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "report"))
import made_report

INK, SOFT, LINE, ACCENT, BAR = "#010203", "#010204", "#010205", "#010206", "#010207"
"""Colours that nobody uses, each to be replaced by a variable of the style sheet."""
VARIABLES = dict(zip((INK, SOFT, LINE, ACCENT, BAR), ("ink", "soft", "line", "accent", "h3"), strict=True))
SIZE = (300, 170)
LARGEST = 1e30
"""Stands for infinity, which a logarithmic axis has no place for."""


def drawn(calls: Sequence[Call], axes: Frame) -> list[Call]:
    known = [c for c in calls if c.residual is not None and axes.dim in c.dims]
    return sorted(known, key=lambda c: (not c.fails, -c.ratio))[:96]


def slim(text: str) -> str:
    """Without what a page does not need: metadata, comments, digits of coordinates."""
    text = re.sub(r"<metadata>.*?</metadata>|<!--.*?-->", "", text[text.index("<svg") :], flags=re.DOTALL)
    text = re.sub(r"\s*\n\s*", "\n", re.sub(r"(\d\.\d)\d+", r"\1", text))
    for colour, name in VARIABLES.items():
        text = text.replace(colour, f"var(--{name})")
    return text


def by_matplotlib(calls: Sequence[Call], axes: Frame, spread: Histogram) -> list[str]:
    import matplotlib as mpl
    from matplotlib.figure import Figure

    mpl.rcParams.update({"svg.fonttype": "none", "svg.hashsalt": "report", "font.size": 8, "font.family": "serif"})

    def plain() -> tuple[Any, Any]:
        figure = Figure(figsize=tuple(x / 72 for x in SIZE))
        inner = figure.add_axes((0.15, 0.18, 0.82, 0.75))
        inner.spines[["top", "right"]].set_visible(False)
        inner.spines[["left", "bottom"]].set_color(LINE)
        inner.tick_params(colors=SOFT, length=0)
        return figure, inner

    def text(figure: Any) -> str:
        out = io.StringIO()
        figure.savefig(out, format="svg", transparent=True, metadata={"Date": None, "Creator": None})
        return slim(out.getvalue())

    errors, inner = plain()
    inner.set_xscale("log", base=2)
    inner.set_yscale("symlog", linthresh=1e-12)
    for fails, colour, area in ((False, SOFT, 10), (True, ACCENT, 18)):
        some = [c for c in drawn(calls, axes) if c.fails is fails]
        sizes, bounds = [c.dims[axes.dim] for c in some], [c.tolerance or 0.0 for c in some]
        found = [min(c.residual or 0.0, LARGEST) for c in some]
        inner.vlines(sizes, found, bounds, colors=ACCENT if fails else LINE, lw=0.8)
        inner.scatter(sizes, bounds, marker="_", c=INK, s=14, lw=1)
        inner.scatter(sizes, found, c=colour, s=area, lw=0)
    inner.set_xlabel(axes.dim, color=SOFT, loc="right")
    bars, inner = plain()
    middles = [b.x + b.width / 2 for b in spread.bars]
    colours = [ACCENT if b.fails else BAR for b in spread.bars]
    inner.bar(middles, [b.height for b in spread.bars], [b.width for b in spread.bars], color=colours)
    inner.axvline(spread.one, color=INK, ls="--", lw=0.8)
    inner.set_xticks([t.at for t in spread.xs], [t.text for t in spread.xs])
    inner.set_yticks([])
    inner.set_xlabel("share of the bound", color=SOFT, loc="right")
    return [text(errors), text(bars)]


def by_altair(calls: Sequence[Call], axes: Frame, spread: Histogram) -> list[str]:
    import altair as alt
    import vl_convert

    rows = [
        {"n": c.dims[axes.dim], "e": min(c.residual or 0.0, LARGEST), "b": c.tolerance or 0.0, "f": c.fails}
        for c in drawn(calls, axes)
    ]
    y = alt.Y("e:Q", scale=alt.Scale(type="symlog", constant=1e-12), title=None)
    colour = alt.condition("datum.f", alt.value(ACCENT), alt.value(SOFT))
    base = alt.Chart(alt.Data(values=rows)).encode(x=alt.X("n:Q", scale=alt.Scale(type="log", base=2), title=axes.dim))
    bounds = base.mark_tick(orient="horizontal", size=5, color=INK).encode(y="b:Q")
    errors = base.mark_rule().encode(y=y, y2="b:Q", color=colour) + bounds
    errors += base.mark_circle(size=12).encode(y=y, color=colour)
    counts = [{"x": b.x, "to": b.x + b.width, "h": b.height, "f": b.fails} for b in spread.bars]
    bars = alt.Chart(alt.Data(values=counts)).mark_bar().encode(
        x=alt.X("x:Q", title="share of the bound"), x2="to:Q", y=alt.Y("h:Q", axis=None),
        color=alt.condition("datum.f", alt.value(ACCENT), alt.value(BAR)),
    )  # fmt: skip
    charts = [chart.properties(width=244, height=128).to_dict() for chart in (errors, bars)]
    return [slim(vl_convert.vegalite_to_svg(chart)) for chart in charts]


LIBRARIES: dict[str, tuple[str, Callable[[Sequence[Call], Frame, Histogram], list[str]]]] = {
    "matplotlib": ("matplotlib", by_matplotlib), "altair": ("vl_convert", by_altair),
}  # fmt: skip


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        found = gather([made_report.write(Path(folder) / "run")])
    start = time.process_time()
    page = report_page(found.source, found.columns, found.measured, found.comparison)
    print(json.dumps({"own": "the whole page", **_cost(start, [page])}))
    own = re.findall(rf'<svg viewBox="0 0 {SIZE[0]} {SIZE[1]}".*?</svg>', page, re.DOTALL)
    print(json.dumps({"own": "error plots and histograms", "pictures": len(own), **_cost(None, own)}))
    for name, (module, draw) in LIBRARIES.items():
        if importlib.util.find_spec(module) is None:
            print(json.dumps({"library": name, "skipped": f"{module} is not installed"}))
            continue
        start, pictures = time.process_time(), []
        for m in found.measured:
            axes, spread = frame(m.calls, m.size or ""), histogram(m.calls)
            if axes is not None and spread is not None:
                pictures += draw(m.calls, axes, spread)
        print(json.dumps({"library": name, "pictures": len(pictures), **_cost(start, pictures)}))


def _cost(start: float | None, texts: Sequence[str]) -> dict[str, float]:
    """Megabytes, and seconds of the processor since `start`."""
    seconds = {} if start is None else {"seconds": round(time.process_time() - start, 1)}
    return {**seconds, "megabytes": round(sum(len(t.encode()) for t in texts) / 1e6, 1)}


if __name__ == "__main__":
    main()

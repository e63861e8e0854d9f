"""Verified matrix products: what a check costs, what it finds, and which faults it names.

    python benchmarks/freivalds.py [--part cost,floors,curves,kinds,named,places] [--sizes 256,512,...] [--out FILE]

The baseline is the published algorithm, written from its description: ten vectors uniform on (-1, 1), thin products in
the working precision, and a fixed tolerance of atol + rtol max|C r|. False alarms are counted by freivalds_alarms.py.
Writes benchmarks/results/freivalds.json, and as pictures freivalds.svg and freivalds_kinds.svg.
"""

from __future__ import annotations

import argparse
import json
import os
from collections.abc import Mapping
from itertools import product
from pathlib import Path
from types import MappingProxyType
from typing import Any

import freivalds_products as products
import numpy as np
from freivalds_cost import BASELINE, cost, published
from freivalds_faults import curves_of, kinds, named, places
from freivalds_plot import curves_svg
from rich.console import Console
from rich.table import Table

from kernel_contracts import check_product

RESULTS = Path(__file__).parent / "results"
SIZES = (256, 512, 1024, 2048, 4096)
PARTS = ("cost", "floors", "curves", "kinds", "named", "places")

WANTED = (2048, 4096, 512), 0.05
"""A shape and an error of one element, a thousandth of the mean element, that must be found there."""

VARIANTS: tuple[dict[str, Any], ...] = ({}, {"precision": "fp64"})
"""Ways to check an fp32 product: as it comes, and in fp64."""


def floors(trials: int) -> list[dict[str, Any]]:
    """Detection floors: the stated one, confirmed; and the least error that the published algorithm always finds."""
    rows = []
    rng = np.random.default_rng(2)
    shapes = [(512, 512, 512), (1024, 1024, 1024), (2048, 4096, 512), (2048, 2048, 2048), (4096, 4096, 4096)]
    for dtype, (stored, out, fmt) in products.DTYPES.items():
        if dtype.startswith("e") or " in " in dtype:
            continue
        variants = VARIANTS if dtype == "fp32" else VARIANTS[:1]
        for (m, k, n), how in product(shapes if dtype == "fp32" else shapes[:1], variants):
            a, b = (x.astype(stored) for x in (rng.standard_normal((m, k)), rng.standard_normal((k, n))))
            c = products.blas(a, b, fmt).astype(out)
            stated = check_product(a, b, c, seed=1, **how)
            many = max(trials // (10 if how or m * k * n > 1 << 34 else 1), 1)
            found = sum(_found(rng, a, b, c, stated.floor_absolute, how) for _ in range(many))
            row = {
                "dtype": ", ".join([dtype, *(f"{x} {y}" for x, y in how.items())]),
                "shape": [m, k, n],
                "floor": stated.floor,
                "absolute": stated.floor_absolute,
            }
            row |= {"rms": stated.output_rms, "found": found / many, "trials": many}
            if dtype == "fp32" and (m, k, n) == WANTED[0] and not how:
                row["found at 0.05"] = sum(_found(rng, a, b, c, WANTED[1]) for _ in range(100)) / 100
            if dtype in BASELINE and not how:
                row["published"] = _published_floor(rng, a, b, c, BASELINE[dtype])
            rows.append(row)
    return rows


def _found(
    rng: np.random.Generator, a: Any, b: Any, c: Any, size: float, how: Mapping[str, Any] = MappingProxyType({})
) -> bool:
    """Whether an error of one element is found, and placed."""
    i, j = int(rng.integers(c.shape[0])), int(rng.integers(c.shape[1]))
    kept = c[i, j].copy()
    c[i, j] = np.asarray(float(kept) + (size if rng.random() < 0.5 else -size)).astype(c.dtype)
    result = check_product(a, b, c, **how)
    c[i, j] = kept
    return [(f.row, f.column) for f in result.faults] == [(i, j)]


def _published_floor(rng: np.random.Generator, a: Any, b: Any, c: Any, tolerance: tuple[float, float]) -> float:
    """Least error of one element that twelve runs of the published check all find, to 25%."""
    wide = [np.asarray(x, np.float32 if x.dtype.itemsize < 4 else x.dtype) for x in (a, b, c)]
    size = 1e-3 * float(np.std(wide[2]))
    while True:
        missed = False
        for _ in range(12):
            i, j = int(rng.integers(c.shape[0])), int(rng.integers(c.shape[1]))
            kept = wide[2][i, j].copy()
            wide[2][i, j] += size
            missed = published(*wide, rng, tolerance)
            wide[2][i, j] = kept
            if missed:
                break
        if not missed:
            return size
        size *= 1.25


def curves(trials: int) -> dict[str, list[tuple[float, float]]]:
    """Share of single-element errors found, against their size over the output's rms, at 1024^3 in fp32."""
    rng = np.random.default_rng(3)
    a, b = (rng.standard_normal((1024, 1024), dtype=np.float32) for _ in range(2))
    c = a @ b
    rms = float(np.std(c))
    out: dict[str, list[tuple[float, float]]] = {"this check": [], "published": []}
    for exponent in np.arange(-5.0, 0.01, 0.25):
        size = rms * 10.0**exponent
        ours = sum(_found(rng, a, b, c, size) for _ in range(trials)) / trials
        theirs = 0
        for _ in range(trials):
            i, j = (int(x) for x in rng.integers(1024, size=2))
            kept = c[i, j].copy()
            c[i, j] += np.float32(size)
            theirs += not published(a, b, c, rng, BASELINE["fp32"])
            c[i, j] = kept
        out["this check"].append((10.0**exponent, ours))
        out["published"].append((10.0**exponent, theirs / trials))
    return out


def show(console: Console, found: dict[str, Any]) -> None:
    """The tables."""
    for part, table in (
        ("cost", _cost),
        ("floors", _floors),
        ("kinds", _kinds),
        ("named", _named),
        ("places", _places),
    ):
        if part in found:
            console.print(table(found[part]))


def _cost(rows: list[dict[str, Any]]) -> Table:
    names = ("threads", "format", "n", "product, ms", "check", "published", "read once", "check / read", "check / pub.")
    table = Table(*names, title="cost: medians, as shares of the product")
    for r in rows:
        p = r["product"]["median"]
        other = r.get("published")
        shares = [f"{r[x]['median'] / p:.2%}" if x in r else "" for x in ("check", "published", "read once")]
        against = f"{r['check']['median'] / r['read once']['median']:.2f}"
        ratio = f"{r['check']['median'] / other['median']:.2f}" if other else ""
        table.add_row(str(r["threads"]), r["dtype"], str(r["n"]), f"{p * 1e3:.1f}", *shares, against, ratio)
    return table


def _floors(rows: list[dict[str, Any]]) -> Table:
    names = ("formats", "shape", "floor", "floor / rms", "found there", "published floor", "ratio")
    table = Table(*names, title="floors: an error of one element")
    for r in rows:
        theirs = r.get("published")
        ratio, other = (f"{theirs / r['absolute']:.0f}", f"{theirs:.2g}") if theirs else ("", "")
        shape = "x".join(map(str, r["shape"]))
        table.add_row(r["dtype"], shape, f"{r['absolute']:.2g}", f"{r['floor']:.2g}", f"{r['found']:.1%}", other, ratio)
    return table


def _kinds(rows: list[dict[str, Any]]) -> Table:
    table = Table("format", "fault", "least number or share always found", "size / rms there", title="planted faults")
    for dtype, fault in dict.fromkeys((r["dtype"], r["fault"]) for r in rows):
        points = sorted((r for r in rows if (r["dtype"], r["fault"]) == (dtype, fault)), key=lambda r: float(r["size"]))
        always: dict[str, Any] | None = None
        for r in reversed(points):
            if r["found"] < 1:
                break
            always = r
        shown = (f"{always['number']:.3g}", f"{float(always['size']):.2g}") if always else ("none", "")
        table.add_row(dtype, fault, *shown)
    return table


def _named(rows: list[dict[str, Any]]) -> Table:
    table = Table("fault of the whole product", "found", "named so", "names", title="found and named")
    for r in rows:
        names = ", ".join(f"{name} {n}" for name, n in r["names"].items())
        table.add_row(r["fault"], f"{r['found']:.0%}", f"{r['named']:.0%}", names)
    return table


def _places(rows: list[dict[str, Any]]) -> Table:
    table = Table("format", "found", "row and column right", "repaired to the same bits", title="1 to 100 floors")
    for r in rows:
        table.add_row(r["dtype"], *(f"{r[x]:.1%}" for x in ("found", "placed", "repaired")))
    return table


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--part", default=",".join(PARTS))
    parser.add_argument("--sizes", default=",".join(map(str, SIZES)))
    parser.add_argument("--threads", default=f"1,{os.cpu_count()}")
    parser.add_argument("--repeats", type=int, default=21)
    parser.add_argument("--trials", type=int, default=100)
    parser.add_argument("--out", type=Path, default=RESULTS / "freivalds.json")
    given = parser.parse_args()
    sizes, threads = ([int(n) for n in text.split(",")] for text in (given.sizes, given.threads))
    measures = {
        "cost": lambda: cost(sizes, given.repeats, list(dict.fromkeys(threads))),
        "floors": lambda: floors(given.trials),
        "curves": lambda: curves(given.trials),
        "kinds": lambda: kinds(max(given.trials // 5, 1)),
        "named": lambda: named(max(given.trials // 2, 1)),
        "places": lambda: places(5 * given.trials),
    }
    given.out.parent.mkdir(parents=True, exist_ok=True)
    for part in given.part.split(","):
        made = measures[part]()
        found: dict[str, Any] = json.loads(given.out.read_text("utf-8")) if given.out.exists() else {}
        found[part] = made
        given.out.write_text(json.dumps(found, indent=2) + "\n", encoding="utf-8")  # what is measured is kept
        show(Console(width=130), {part: made})
        _draw(found, part, given.out)


def _draw(found: dict[str, Any], part: str, out: Path) -> None:
    x, y = "error of one element / rms of the output", "share found"
    if part == "curves":
        out.with_suffix(".svg").write_text(curves_svg(found["curves"], x, y), encoding="utf-8")
    if part == "kinds":
        picture = curves_svg(curves_of(found["kinds"], "fp32"), "largest error / rms of the output", y)
        out.with_name(f"{out.stem}_kinds.svg").write_text(picture, encoding="utf-8")


if __name__ == "__main__":
    main()

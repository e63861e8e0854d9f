"""Verified matrix products: what a check costs, what it finds, and that it accuses nobody.

    python benchmarks/freivalds.py [--part cost,floors,curves,alarms] [--sizes 256,512,...] [--products N] [--out FILE]

The baseline is the published algorithm, written from its description: ten vectors uniform on (-1, 1), thin products in
the working precision, and a fixed tolerance of atol + rtol max|C r|. Costs are ratios of times of one run, taken in
turn, so that the speed of the machine cancels out. Writes benchmarks/results/freivalds.json and freivalds.svg.
"""

from __future__ import annotations

import argparse
import json
import time
from collections import Counter
from collections.abc import Callable, Mapping
from itertools import product
from pathlib import Path
from types import MappingProxyType
from typing import Any

import freivalds_products as products
import numpy as np
from freivalds_plot import curves_svg
from rich.console import Console
from rich.table import Table

from kernel_contracts import check_product

RESULTS = Path(__file__).parent / "results"
SIZES = (256, 512, 1024, 2048, 4096)
BASELINE = {"fp32": (1e-4, 1e-4), "fp64": (1e-10, 1e-10), "fp16": (1e-2, 5e-2), "bf16": (1e-2, 5e-2)}

VARIANTS: tuple[dict[str, Any], ...] = ({}, {"precision": "fp64"}, {"precision": "fp64", "chunk": 512})
"""Ways to check an fp32 product: as it comes, in fp64, and knowing that BLAS sums no more terms than that in one go."""


def published(a: Any, b: Any, c: Any, rng: np.random.Generator, tolerance: tuple[float, float], k: int = 10) -> bool:
    """The published check: True where it accepts."""
    r = rng.uniform(-1, 1, (b.shape[1], k)).astype(a.dtype)
    left, right = a @ (b @ r), c @ r
    atol, rtol = tolerance
    worst = np.max(np.abs(left - right), axis=0)
    return not bool((worst > atol + rtol * np.max(np.abs(right), axis=0)).any())


def timed(calls: dict[str, Callable[[], object]], repeats: int) -> dict[str, float]:
    """Least seconds of each, the calls taken in turn."""
    best = dict.fromkeys(calls, float("inf"))
    for round_ in range(repeats + 1):
        for name, call in calls.items():
            began = time.perf_counter()
            call()
            if round_:
                best[name] = min(best[name], time.perf_counter() - began)
    return best


def cost(sizes: list[int], repeats: int) -> list[dict[str, Any]]:
    """Times of the check beside recomputation, reading once and the published algorithm."""
    rows = []
    rng = np.random.default_rng(1)
    for n in sizes:
        a, b = (rng.standard_normal((n, n), dtype=np.float32) for _ in range(2))
        c = a @ b
        ones = np.ones(n, np.float32)

        def once(a: Any = a, b: Any = b, c: Any = c, ones: Any = ones) -> None:
            for x in (a, b, c):
                x @ ones

        calls: dict[str, Callable[[], object]] = {
            "product": lambda a=a, b=b: a @ b,  # type: ignore[misc]
            "read once": once,
            "check": lambda a=a, b=b, c=c: check_product(a, b, c),  # type: ignore[misc]
            "one vector": lambda a=a, b=b, c=c: check_product(a, b, c, vectors=1),  # type: ignore[misc]
            "published": lambda a=a, b=b, c=c: published(a, b, c, rng, BASELINE["fp32"]),  # type: ignore[misc]
        }
        rows.append({"n": n, "dtype": "fp32", **timed(calls, repeats)})
    return rows


def floors(trials: int) -> list[dict[str, Any]]:
    """Detection floors: the stated one, confirmed; and the least error that the published algorithm always finds."""
    rows = []
    rng = np.random.default_rng(2)
    shapes = [(512, 512, 512), (1024, 1024, 1024), (2048, 4096, 512)]
    for dtype, (stored, out, fmt) in products.DTYPES.items():
        if dtype.startswith("e") or " in " in dtype:
            continue
        variants = VARIANTS if dtype == "fp32" else VARIANTS[:1]
        for (m, k, n), how in product(shapes if dtype == "fp32" else shapes[:1], variants):
            a, b = (x.astype(stored) for x in (rng.standard_normal((m, k)), rng.standard_normal((k, n))))
            c = products.blas(a, b, fmt).astype(out)
            stated = check_product(a, b, c, seed=1, **how)
            found = sum(_found(rng, a, b, c, stated.floor_absolute, how) for _ in range(trials))
            row = {
                "dtype": ", ".join([dtype, *(f"{x} {y}" for x, y in how.items())]),
                "shape": [m, k, n],
                "floor": stated.floor,
                "absolute": stated.floor_absolute,
            }
            row |= {"rms": stated.output_rms, "found": found / trials, "trials": trials}
            if dtype in BASELINE:
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


def alarms(count: int, seed: int) -> dict[str, Any]:
    """Honest products of every family, format and order; how many were accused, and how many looked at twice."""
    rng = np.random.default_rng(seed)
    small = [(1, 1, 1), (1, 9, 4), (7, 1, 5), (3, 64, 1), (16, 33, 16), (8, 512, 8), (4, 2048, 6), (64, 64, 32)]
    large = [(64, 512, 64), (256, 256, 256), (96, 1024, 128), (200, 300, 77), (32, 4096, 32)]
    accused: list[str] = []
    examined: Counter[str] = Counter()
    done: Counter[str] = Counter()
    while sum(done.values()) < count:
        for family in products.FAMILIES:
            for dtype in products.DTYPES:
                narrow = " in " in dtype
                shapes = small if narrow or rng.random() < 0.7 else large
                shape = shapes[int(rng.integers(len(shapes)))]
                for h in products.honest(rng, family, dtype, shape, torch=True):
                    found = check_product(h.a, h.b, h.c, accumulate=h.accumulate)
                    done[family] += 1
                    examined[family] += found.examined > 0
                    if not found.ok:
                        accused.append(f"{family}, {dtype}, {shape}, {h.kernel}, seed {found.seed}: {found}")
    total = sum(done.values())
    return {
        "products": total,
        "accused": accused,
        "upper95": 3 / total,
        "by family": {f: {"products": done[f], "examined": examined[f]} for f in done},
    }


def show(console: Console, found: dict[str, Any]) -> None:
    """The tables."""
    if "cost" in found:
        names = ("n", "product, ms", "check / product", "one vector", "published", "read once", "check / read once")
        table = Table(*names, title="cost in fp32, as shares of the product")
        for r in found["cost"]:
            p = r["product"]
            shares = [f"{r[x] / p:.2%}" for x in ("check", "one vector", "published", "read once")]
            table.add_row(str(r["n"]), f"{p * 1e3:.1f}", *shares, f"{r['check'] / r['read once']:.2f}")
        console.print(table)
    if "floors" in found:
        table = Table(
            "formats", "shape", "floor / rms", "found there", "published floor / rms", "ratio", title="floors"
        )
        for r in found["floors"]:
            theirs = r.get("published")
            ratio = f"{theirs / r['absolute']:.0f}" if theirs else ""
            other = f"{theirs / r['rms']:.2g}" if theirs else ""
            shape = "x".join(map(str, r["shape"]))
            table.add_row(r["dtype"], shape, f"{r['floor']:.2g}", f"{r['found']:.1%}", other, ratio)
        console.print(table)
    if "alarms" in found:
        r = found["alarms"]
        console.print(f"{r['products']} honest products, {len(r['accused'])} accused (95%: below {r['upper95']:.1e})")
        table = Table("family", "products", "examined", title="rows looked at twice")
        for family, row in r["by family"].items():
            table.add_row(family, str(row["products"]), str(row["examined"]))
        console.print(table)
        for line in r["accused"]:
            console.print(line)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--part", default="cost,floors,curves,alarms")
    parser.add_argument("--sizes", default=",".join(map(str, SIZES)))
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--trials", type=int, default=100)
    parser.add_argument("--products", type=int, default=20_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--out", type=Path, default=RESULTS / "freivalds.json")
    given = parser.parse_args()
    parts = given.part.split(",")
    found: dict[str, Any] = json.loads(given.out.read_text("utf-8")) if given.out.exists() else {}
    if "cost" in parts:
        found["cost"] = cost([int(n) for n in given.sizes.split(",")], given.repeats)
    if "floors" in parts:
        found["floors"] = floors(given.trials)
    if "curves" in parts:
        found["curves"] = curves(given.trials)
    if "alarms" in parts:
        found["alarms"] = alarms(given.products, given.seed)
    show(Console(), {k: v for k, v in found.items() if k in parts})
    given.out.parent.mkdir(parents=True, exist_ok=True)
    given.out.write_text(json.dumps(found, indent=2) + "\n", encoding="utf-8")
    if "curves" in found:
        picture = curves_svg(found["curves"], "error of one element / rms of the output", "share found")
        given.out.with_suffix(".svg").write_text(picture, encoding="utf-8")
    if found.get("alarms", {}).get("accused"):
        raise SystemExit(1)


if __name__ == "__main__":
    main()

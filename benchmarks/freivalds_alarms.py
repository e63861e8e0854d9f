"""Honest products by the hundred thousand: how many are accused, and how many looked at twice.

    python benchmarks/freivalds_alarms.py [--products 100000] [--minutes M] [--lines FILE] [--out FILE]

Work comes in numbered units; a unit's number is its seed, and says everything about it. A unit is a family of inputs,
a format, a shape and every kernel that suits them: BLAS of NumPy and of PyTorch, and where sums are small every order
of summation, emulated. Small products are checked in batches, large ones one by one. Every finished unit is a line of
JSON, and a run goes on where the last one ended. The summary goes to the `alarms` of benchmarks/results/freivalds.json.
"""

from __future__ import annotations

import argparse
import json
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import freivalds_products as products
import numpy as np
from rich.console import Console
from rich.table import Table

from kernel_contracts import check_product

RESULTS = Path(__file__).parent / "results"
BATCH = 16
SMALL = (
    (1, 1, 1), (1, 9, 4), (7, 1, 5), (2, 3, 2), (3, 64, 1), (1, 100, 8), (5, 17, 6), (8, 33, 8), (4, 256, 4),
    (16, 16, 16), (2, 600, 2), (12, 8, 20),
)  # fmt: skip
MIDDLE = (
    (64, 64, 32), (64, 512, 64), (128, 128, 128), (96, 1024, 128), (200, 300, 77), (32, 4096, 32), (256, 256, 256),
    (300, 700, 33), (33, 2048, 65), (4096, 16, 48), (16, 48, 4096), (1, 4096, 64), (700, 64, 1), (512, 640, 96),
)  # fmt: skip
LARGE = (
    (512, 512, 512), (1024, 640, 256), (300, 2100, 600), (2048, 1024, 64), (64, 3000, 2048), (1024, 1024, 1024),
)  # fmt: skip
HUGE = ((4096, 4096, 64), (64, 4096, 4096), (4096, 64, 4096), (2048, 4096, 512), (4096, 4096, 4096))


def plan(unit: int) -> tuple[np.random.Generator, str, str, tuple[int, int, int], int]:
    """Generator, family, format, shape and batch of a unit."""
    rng = np.random.default_rng(unit)
    families, dtypes = sorted(products.FAMILIES), sorted(products.DTYPES)
    family = families[unit % len(families)]
    dtype = dtypes[int(rng.integers(len(dtypes)))]
    draw = rng.random()
    if unit % 400 == 7:  # a huge product with its three shapes of one long side, and now and then all three
        shapes: tuple[tuple[int, int, int], ...] = HUGE
    elif draw < 0.55:
        shapes = SMALL
    else:
        shapes = LARGE if draw > 0.96 else MIDDLE
    if " in " in dtype and shapes is not SMALL:  # no BLAS sums in a narrow format: only small ones are emulated
        dtype = "fp32"
    shape = shapes[int(rng.integers(len(shapes)))]
    return rng, family, dtype, shape, BATCH if shapes is SMALL else 1


def run(unit: int) -> dict[str, Any]:
    """The unit's products, checked."""
    rng, family, dtype, shape, batch = plan(unit)
    line: dict[str, Any] = {"unit": unit, "family": family, "dtype": dtype, "shape": shape, "kernels": {}}
    line |= {"products": 0, "examined": 0, "unexamined": 0, "accused": []}
    for h in _honest(rng, family, dtype, shape, batch):
        found = check_product(h.a, h.b, h.c, accumulate=h.accumulate, seed=int(rng.integers(1 << 62)))
        kernel = h.kernel.partition("(")[0]
        line["kernels"][kernel] = line["kernels"].get(kernel, 0) + batch
        line["products"] += batch
        line["examined"] += min(batch, found.examined)
        line["unexamined"] += found.unexamined > 0
        if not found.ok:
            line["accused"].append(f"{h.kernel}, seed {found.seed}: {found}")
    return line


def _honest(
    rng: np.random.Generator, family: str, dtype: str, shape: tuple[int, int, int], batch: int
) -> Iterator[products.Honest]:
    """Single products of every kernel, or batches: the same kernel of several draws."""
    if batch == 1:
        yield from products.honest(rng, family, dtype, shape, torch=True)
        return
    # One order of summation that is drawn, as orders("shuffled") is, must be the same in every draw of a batch.
    seed = int(rng.integers(1 << 62))
    draws = [list(products.honest(rng, family, dtype, shape, torch=True, order_seed=seed)) for _ in range(batch)]
    for same in zip(*draws, strict=True):
        one = same[0]
        a, b, c = (np.stack([getattr(h, name) for h in same]) for name in "abc")
        yield products.Honest(one.family, one.dtype, one.kernel, one.accumulate, a, b, c)


def summary(lines: list[dict[str, Any]]) -> dict[str, Any]:
    """What the finished units say together."""
    counts: dict[str, Counter[str]] = {key: Counter() for key in ("family", "dtype", "kernel", "longest side")}
    examined: Counter[str] = Counter()
    for line in lines:
        side = max(line["shape"])
        counts["family"][line["family"]] += line["products"]
        counts["dtype"][line["dtype"]] += line["products"]
        bucket = next(f"up to {s}" for s in (16, 128, 512, 1024, 2048, 4096) if side <= s)
        counts["longest side"][bucket] += line["products"]
        counts["kernel"].update(line["kernels"])
        examined[line["family"]] += line["examined"]
    total = sum(line["products"] for line in lines)
    accused = [f"unit {line['unit']}: {text}" for line in lines for text in line["accused"]]
    return {
        "products": total,
        "units": len(lines),
        "accused": accused,
        "upper95": 3 / max(1, total),
        "by family": {f: {"products": n, "examined": examined[f]} for f, n in sorted(counts["family"].items())},
        **{f"by {key}": dict(sorted(counts[key].items())) for key in ("dtype", "kernel", "longest side")},
    }


def show(console: Console, found: dict[str, Any]) -> None:
    """The summary as a table."""
    console.print(
        f"{found['products']} honest products, {len(found['accused'])} accused (95%: below {found['upper95']:.1e})"
    )
    table = Table("family", "products", "examined", title="rows looked at twice")
    for family, row in found["by family"].items():
        table.add_row(family, str(row["products"]), str(row["examined"]))
    console.print(table)
    for key in ("by dtype", "by kernel", "by longest side"):
        console.print(f"{key}: " + ", ".join(f"{name} {n}" for name, n in found[key].items()))
    for line in found["accused"]:
        console.print(line)


def finished(lines: Path) -> list[dict[str, Any]]:
    """The units that are done; a line cut off in the middle counts as not done."""
    if not lines.exists():
        return []
    found = []
    for text in lines.read_text("utf-8").splitlines():
        try:
            found.append(json.loads(text))
        except json.JSONDecodeError:
            continue
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--products", type=int, default=100_000)
    parser.add_argument("--minutes", type=float, default=float("inf"))
    parser.add_argument("--lines", type=Path, default=RESULTS / "freivalds_alarms.jsonl")
    parser.add_argument("--out", type=Path, default=RESULTS / "freivalds.json")
    given = parser.parse_args()
    done = finished(given.lines)
    total, unit = sum(line["products"] for line in done), max((line["unit"] for line in done), default=-1) + 1
    began = time.monotonic()
    given.lines.parent.mkdir(parents=True, exist_ok=True)
    with given.lines.open("a", encoding="utf-8") as file:
        while total < given.products and time.monotonic() - began < 60 * given.minutes:
            done.append(run(unit))
            file.write(json.dumps(done[-1]) + "\n")
            file.flush()
            total, unit = total + done[-1]["products"], unit + 1
    record = json.loads(given.out.read_text("utf-8")) if given.out.exists() else {}
    record["alarms"] = summary(done)
    given.out.write_text(json.dumps(record, indent=2) + "\n", encoding="utf-8")
    show(Console(), record["alarms"])
    if record["alarms"]["accused"]:
        raise SystemExit(1)


if __name__ == "__main__":
    main()

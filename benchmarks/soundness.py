"""Proves the numerics on random cells: no conforming execution exceeds the derived bound.

    python benchmarks/soundness.py [--cells 10000] [--seed 0] [--jobs 2]

Prints one row per program (cells, worst ratio, median tightness, exceedances), writes
benchmarks/results/soundness.json, and exits with status 1 where any cell exceeds its bound.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import time
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict, dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT / "src"), str(ROOT / "tests" / "numerics")]

import numpy as np  # noqa: E402
from cell_kernels import KERNEL_PROGRAMS  # noqa: E402
from cell_programs import PROGRAMS, schedule  # noqa: E402
from cells import draw, measure  # noqa: E402
from rich.console import Console  # noqa: E402
from rich.table import Table  # noqa: E402

#: Programs that make up one piece of work for a process.
_CHUNK = 100


@dataclass(frozen=True)
class Row:
    """What the cells of one program showed."""

    program: str
    cells: int
    elements: int
    free: int
    """Elements where the bound admits every answer."""
    worst: float
    median: float
    """Median over cells of their largest ratio, those with no error at all left out: how tight the bound is."""
    exceeding: tuple[str, ...]
    """Every cell above 1, told so that it can be drawn again."""


def _work(piece: tuple[str, int, int]) -> tuple[str, list[tuple[float, int, int]], list[str]]:
    name, first, count = piece
    readings, exceeding = [], []
    with np.errstate(all="raise", under="ignore"):
        for seed in range(first, first + count):
            cell = draw(name, PROGRAMS[name], seed)
            r = measure(cell)
            readings.append((r.worst, r.elements, r.free))
            if not r.worst <= 1:
                exceeding.append(f"{r.worst:.4g}: {cell.about}")
    return name, readings, exceeding


def pieces(cells: int, seed: int) -> list[tuple[str, int, int]]:
    """The work in parts. Cell k of a program has the seed 1000000 * seed + k."""
    out = []
    for name, count in schedule(cells):
        for start in range(0, count, _CHUNK):
            out.append((name, 1_000_000 * seed + start, min(_CHUNK, count - start)))
    return out


def collect(cells: int, seed: int, jobs: int) -> list[Row]:
    """Every program's row, in the order of the schedule."""
    readings: dict[str, list[tuple[float, int, int]]] = {}
    exceeding: dict[str, list[str]] = {}
    with ProcessPoolExecutor(jobs) as pool:
        for name, some, bad in pool.map(_work, pieces(cells, seed)):
            readings.setdefault(name, []).extend(some)
            exceeding.setdefault(name, []).extend(bad)
    return [_row(name, readings[name], exceeding[name]) for name in readings]


def _row(name: str, readings: Sequence[tuple[float, int, int]], exceeding: Sequence[str]) -> Row:
    ratios = [r for r, _, _ in readings]
    moved = [r for r in ratios if r > 0]
    return Row(
        name, len(ratios), sum(n for _, n, _ in readings), sum(f for _, _, f in readings), max(ratios),
        statistics.median(moved) if moved else 0.0, tuple(exceeding),
    )  # fmt: skip


def show(rows: Sequence[Row], console: Console) -> None:
    table = Table(title="error / derived bound, over random conforming executions")
    table.add_column("program")
    for heading in ("cells", "elements", "undetermined", "worst ratio", "median tightness", "exceedances"):
        table.add_column(heading, justify="right")
    for row in rows:
        share = f"{row.free / row.elements:.1%}" if row.elements else "-"
        style = "red" if row.exceeding else "bold" if row.program in (*KERNEL_PROGRAMS, "composition") else ""
        table.add_row(
            row.program, str(row.cells), str(row.elements), share, f"{row.worst:.4f}", f"{row.median:.4f}",
            str(len(row.exceeding)), style=style,
        )  # fmt: skip
    console.print(table)
    for row in rows:
        for text in row.exceeding[:5]:
            console.print(f"[red]exceeds[/] {text}", highlight=False)


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description="Random cells against the derived bound.")
    parser.add_argument("--cells", type=int, default=10_000, help="about how many cells to draw")
    parser.add_argument("--seed", type=int, default=0, help="which cells to draw")
    parser.add_argument("--jobs", type=int, default=2, help="processes")
    parser.add_argument("--out", type=Path, default=ROOT / "benchmarks" / "results" / "soundness.json")
    given = parser.parse_args(argv)
    console = Console(width=120) if not sys.stdout.isatty() else Console()
    began = time.perf_counter()
    rows = collect(given.cells, given.seed, given.jobs)
    seconds = time.perf_counter() - began
    show(rows, console)
    cells, bad = sum(r.cells for r in rows), sum(len(r.exceeding) for r in rows)
    console.print(f"seed {given.seed}: {cells} cells, {bad} exceedances, {seconds:.0f} s")
    given.out.parent.mkdir(parents=True, exist_ok=True)
    record = {"seed": given.seed, "cells": cells, "exceedances": bad, "programs": [asdict(r) for r in rows]}
    given.out.write_text(json.dumps(record, indent=1) + "\n")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())

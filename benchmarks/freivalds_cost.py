"""What a check costs: beside the product, beside reading A, B and C once, and beside the published algorithm.

Used by freivalds.py. Calls are taken in turn in one process, so that the speed of the machine cancels out of ratios.
With one thread the clock is that of the process, which other programs on the machine do not disturb; with several it
is the wall's.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from kernel_contracts import check_product

BASELINE = {"fp32": (1e-4, 1e-4), "fp64": (1e-10, 1e-10), "fp16": (1e-2, 5e-2), "bf16": (1e-2, 5e-2)}
THREADS = ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS")
DEAR = 4096
"""Sizes from which on the product itself is repeated three times only."""

Calls = Mapping[str, Callable[[], object]]


def published(a: Any, b: Any, c: Any, rng: np.random.Generator, tolerance: tuple[float, float], k: int = 10) -> bool:
    """The published check: True where it accepts."""
    r = rng.uniform(-1, 1, (b.shape[1], k)).astype(a.dtype)
    left, right = a @ (b @ r), c @ r
    atol, rtol = tolerance
    worst = np.max(np.abs(left - right), axis=0)
    return not bool((worst > atol + rtol * np.max(np.abs(right), axis=0)).any())


def timed(calls: Calls, repeats: int, clock: Callable[[], float], seldom: int) -> dict[str, dict[str, float]]:
    """Median and least seconds of each, the calls taken in turn; the product in the first rounds alone."""
    seconds: dict[str, list[float]] = {name: [] for name in calls}
    for round_ in range(repeats + 1):
        for name, call in calls.items():
            if name == "product" and round_ > seldom:
                continue
            began = clock()
            call()
            if round_:
                seconds[name].append(clock() - began)
    return {name: {"median": float(np.median(s)), "least": min(s)} for name, s in seconds.items()}


def rows(sizes: list[int], repeats: int, dtype: str, clock: Callable[[], float]) -> list[dict[str, Any]]:
    """A row for each size."""
    return [{"n": n, "dtype": dtype, **_row(n, repeats, dtype, clock)} for n in sizes]


def _row(n: int, repeats: int, dtype: str, clock: Callable[[], float]) -> dict[str, dict[str, float]]:
    rng = np.random.default_rng(1)
    calls: dict[str, Callable[[], object]]
    if dtype == "bf16":
        import torch

        x, y = (torch.from_numpy(rng.standard_normal((n, n), dtype=np.float32)).bfloat16() for _ in range(2))
        z, one = x @ y, torch.ones(n, dtype=torch.bfloat16)
        calls = {"product": lambda: x @ y, "read once": lambda: [t @ one for t in (x, y, z)]}
        calls["check"] = lambda: check_product(x, y, z)
        return timed(calls, repeats, clock, 3)
    held = np.float64 if dtype == "fp64" else np.float32
    a, b = (rng.standard_normal((n, n)).astype(held) for _ in range(2))
    c, ones = a @ b, np.ones(n, held)
    calls = {
        "product": lambda: a @ b,
        "read once": lambda: [t @ ones for t in (a, b, c)],
        "check": lambda: check_product(a, b, c),
        "two vectors": lambda: check_product(a, b, c, vectors=2),
        "published": lambda: published(a, b, c, rng, BASELINE[dtype]),
    }
    return timed(calls, repeats, clock, 3 if n >= DEAR else repeats)


def cost(sizes: list[int], repeats: int, threads: list[int]) -> list[dict[str, Any]]:
    """Rows for each number of threads, each measured in a process of its own: libraries fix theirs when they start."""
    found = []
    for count in threads:
        environment = {**os.environ, **dict.fromkeys(THREADS, str(count))}
        command = [sys.executable, str(Path(__file__)), json.dumps([sizes, repeats, count])]
        done = subprocess.run(command, env=environment, stdout=subprocess.PIPE, text=True, check=True)
        found += json.loads(done.stdout)
    return found


def main() -> None:
    sizes, repeats, threads = json.loads(sys.argv[1])
    clock = time.process_time if threads == 1 else time.perf_counter
    found = rows(sizes, repeats, "fp32", clock)
    if threads == 1:
        some = [n for n in sizes if 1024 <= n <= 2048]
        found += rows(some, repeats, "fp64", clock) + rows(some[:1], repeats, "bf16", clock)
    print(json.dumps([{"threads": threads, **row} for row in found]))


if __name__ == "__main__":
    main()

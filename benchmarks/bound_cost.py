"""What a derived tolerance costs: `bound` against a plain float64 NumPy reference, as ratios within one run.

    python benchmarks/bound_cost.py [--repeats 5]

The repetitions of both sides are interleaved and their medians compared, so that a busy machine slows both alike.
Writes benchmarks/results/bound_cost.json; exits with status 1 where matmul 1024^3 costs more than three times as much.
"""

from __future__ import annotations

import argparse
import json
import math
import statistics
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT / "src")]

import numpy as np  # noqa: E402
from rich.console import Console  # noqa: E402
from rich.table import Table  # noqa: E402

from kernel_contracts.formats import FORMATS, FP32  # noqa: E402
from kernel_contracts.numerics.bounded import BoundContext  # noqa: E402
from kernel_contracts.numerics.builder import Builder  # noqa: E402
from kernel_contracts.numerics.interpret import Instance, bound  # noqa: E402
from kernel_contracts.numerics.rounding import round_to  # noqa: E402

Array = np.ndarray[Any, np.dtype[Any]]
#: The ratio that a matrix product may cost at most.
LIMIT = 3.0


@dataclass(frozen=True)
class Load:
    """One program with data, and what a person would write in NumPy instead."""

    name: str
    instance: Instance
    plain: Callable[[], Any]


def _draw(shape: tuple[int, ...], fmt: str) -> Array:
    return round_to(np.random.default_rng(7).standard_normal(shape), FORMATS[fmt])


def _last(builder: Builder, op: str, x: int) -> int:
    return builder.op(op, [x], {"axis": (-1,), "keep": True})


def _softmax(builder: Builder, x: int) -> int:
    shifted = builder.op("exp", [builder.op("sub", [x, _last(builder, "max", x)])])
    return builder.op("div", [shifted, _last(builder, "sum", shifted)])


def _plain_softmax(x: Array) -> Array:
    e = np.exp(x - np.max(x, axis=-1, keepdims=True))
    return np.asarray(e / np.sum(e, axis=-1, keepdims=True))


def _instance(builder: Builder, result: int, **inputs: Array) -> Instance:
    return Instance(builder.finish({"y": result}, ()), {}, inputs, {})


def matmul(fmt: str, n: int = 1024) -> Load:
    a, b, builder = _draw((n, n), fmt), _draw((n, n), fmt)[::-1].copy(), Builder(FP32)
    operands = [builder.input(name, FORMATS[fmt], (n, n)) for name in "ab"]
    return Load(f"matmul {n}^3 {fmt}", _instance(builder, builder.op("matmul", operands), a=a, b=b), lambda: a @ b)


def softmax(rows: int = 4096, n: int = 1024) -> Load:
    x, builder = _draw((rows, n), "fp32"), Builder(FP32)
    result = _softmax(builder, builder.input("x", FP32, (rows, n)))
    return Load(f"softmax {rows}x{n}", _instance(builder, result, x=x), lambda: _plain_softmax(x))


def attention(shape: tuple[int, int, int, int] = (1, 8, 512, 64)) -> Load:
    q, builder = _draw(shape, "bf16"), Builder(FP32)
    k, v = q[..., ::-1].copy(), q[..., ::-1, :].copy()
    a, b, c = (builder.input(name, FORMATS["bf16"], shape) for name in "qkv")
    scores = builder.op("matmul", [a, builder.op("transpose", [b], {"axes": None})])
    scores = builder.op("mul", [scores, builder.constant(1 / math.sqrt(shape[-1]))])
    result = builder.op("matmul", [_softmax(builder, scores), c])
    plain = lambda: _plain_softmax(q @ np.swapaxes(k, -1, -2) / math.sqrt(shape[-1])) @ v  # noqa: E731
    return Load(f"attention {shape}", _instance(builder, result, q=q, k=k, v=v), plain)


def layernorm(rows: int = 4096, n: int = 1024) -> Load:
    x, builder = _draw((rows, n), "fp32"), Builder(FP32)
    node = builder.input("x", FP32, (rows, n))
    centered = builder.op("sub", [node, _last(builder, "mean", node)])
    spread = builder.op("var", [node], {"axis": (-1,), "keep": True, "correction": 0})
    result = builder.op("mul", [centered, builder.op("rsqrt", [builder.op("add", [spread, builder.constant(1e-5)])])])

    def plain() -> Array:
        return np.asarray((x - np.mean(x, axis=-1, keepdims=True)) / np.sqrt(np.var(x, axis=-1, keepdims=True) + 1e-5))

    return Load(f"layernorm {rows}x{n}", _instance(builder, result, x=x), plain)


def _seconds(work: Callable[[], Any]) -> float:
    began = time.perf_counter()
    work()
    return time.perf_counter() - began


def compare(load: Load, repeats: int) -> tuple[float, float]:
    """Median seconds of the plain reference and of the bound, taken in turn."""
    derive = lambda: bound(load.instance, BoundContext())  # noqa: E731
    _seconds(load.plain), _seconds(derive)
    pairs = [(_seconds(load.plain), _seconds(derive)) for _ in range(repeats)]
    return statistics.median(p for p, _ in pairs), statistics.median(d for _, d in pairs)


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description="Cost of a derived tolerance over its plain reference.")
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--out", type=Path, default=ROOT / "benchmarks" / "results" / "bound_cost.json")
    given = parser.parse_args(argv)
    table = Table(title="value and radius, over the plain float64 reference")
    table.add_column("load")
    for heading in ("reference ms", "bound ms", "ratio"):
        table.add_column(heading, justify="right")
    record: dict[str, dict[str, float]] = {}
    for load in (matmul("fp32"), matmul("bf16"), softmax(), attention(), layernorm()):
        plain, derived = compare(load, given.repeats)
        record[load.name] = {"reference_s": plain, "bound_s": derived, "ratio": derived / plain}
        table.add_row(load.name, f"{plain * 1e3:.1f}", f"{derived * 1e3:.1f}", f"{derived / plain:.2f}")
    console = Console(width=100) if not sys.stdout.isatty() else Console()
    console.print(table)
    given.out.parent.mkdir(parents=True, exist_ok=True)
    given.out.write_text(json.dumps(record, indent=1) + "\n")
    over = [name for name, entry in record.items() if name.startswith("matmul") and entry["ratio"] > LIMIT]
    for name in over:
        console.print(f"[red]{name} costs {record[name]['ratio']:.2f} times its reference; {LIMIT:g} is the limit[/]")
    return 1 if over else 0


if __name__ == "__main__":
    sys.exit(main())

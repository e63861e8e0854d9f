"""Planted faults: how small a fault of each kind is found, which are named, and whether rows and columns are right.

Used by freivalds.py. Faults are those of `kc inject`. Where a kind has a number (the bit, the length of a slice, the
bits of an accumulator) the curve runs over that number; elsewhere the fault's error is scaled down and rounded again.
The size of a fault is the largest change of an element over the output's root mean square.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any

import freivalds_products as products
import numpy as np

from kernel_contracts import check_product
from kernel_contracts.formats import FORMATS, accumulator
from kernel_contracts.numerics.freivalds.repair import repair
from kernel_contracts.numerics.injection import NEEDS_OPERANDS, inject
from kernel_contracts.numerics.rounding import round_to, to_storage

SHAPE = (256, 512, 256)
NUMBERS: dict[str, tuple[int, ...]] = {
    "slice_dropped": (1, 2, 4, 8, 16, 32, 64, 128, 256, 512),
    "tile_swapped": (1, 2, 4, 8, 16, 32, 64),
    "accumulator_narrowed": (8, 10, 12, 14, 16, 18, 20, 21, 22, 23, 24),
}
SHARES = tuple(10.0 ** (-x / 2) for x in range(14))
"""By how much the error of the other kinds is scaled down."""
SLOW = ("accumulator_narrowed",)
"""Kinds that take long to plant."""
SCALED = ("lane_stuck", "warp_periodic", "row_stale", "rounding_changed", "scale_wrong")


def kinds(trials: int, dtypes: tuple[str, ...] = ("fp32", "bf16")) -> list[dict[str, Any]]:
    """For each kind and size: the share found, and the names given."""
    rows = []
    for dtype in dtypes:
        bits = 8 * products.DTYPES[dtype][1].itemsize
        plans = [("bit_flip", tuple(range(bits)))] + [(f, NUMBERS[f]) for f in NUMBERS] + [(f, SHARES) for f in SCALED]
        for fault, numbers in plans:
            for number in numbers:
                rows.append(_point(dtype, fault, number, min(trials, 4) if fault in SLOW else trials))
    return rows


def _point(dtype: str, fault: str, number: float, trials: int) -> dict[str, Any]:
    rng = np.random.default_rng([ord(c) for c in dtype + fault] + [int(1e6 * number)])
    names: Counter[str] = Counter()
    found, sizes = 0, []
    for _ in range(trials):
        a, b, c = _product(rng, dtype)
        whole = isinstance(number, int)
        done = inject(
            fault, c, a=a if fault in NEEDS_OPERANDS else None, b=b if fault in NEEDS_OPERANDS else None,
            number=number if whole else None, seed=int(rng.integers(1 << 31)),
        )  # fmt: skip
        before, after = (np.asarray(x, np.float64) for x in (c, done.value))
        wrong = done.value if whole else _stored(before + number * (after - before), c.dtype)
        with np.errstate(all="ignore"):
            change = np.abs(np.asarray(wrong, np.float64) - before)
        sizes.append(float(np.max(np.where(np.isfinite(change), change, np.inf)) / np.sqrt(np.mean(before**2))))
        result = check_product(a, b, wrong)
        found += not result.ok
        names[result.name or "nothing"] += 1
    size = float(np.median(sizes))
    row = {"dtype": dtype, "fault": fault, "number": number, "size": size if np.isfinite(size) else "inf"}
    return row | {"found": found / trials, "trials": trials, "names": dict(names.most_common(3))}


def _product(rng: np.random.Generator, dtype: str, shape: tuple[int, int, int] = SHAPE) -> tuple[Any, Any, Any]:
    stored, out, fmt = products.DTYPES[dtype]
    m, k, n = shape
    a, b = (rng.standard_normal(s).astype(stored) for s in ((m, k), (k, n)))
    return a, b, products.blas(a, b, fmt).astype(out)


def _stored(x: Any, dtype: Any) -> Any:
    fmt = next(f for f in FORMATS.values() if f.storage == dtype.name and f.name != "tf32")
    return to_storage(round_to(x, fmt), fmt)


def curves_of(rows: list[dict[str, Any]], dtype: str) -> dict[str, list[tuple[float, float]]]:
    """Share found against size, one curve for each kind; bits of the exponent that overflow are left out."""
    out: dict[str, list[tuple[float, float]]] = {}
    for r in rows:
        if r["dtype"] == dtype and r["size"] != "inf" and 1e-9 < r["size"] < 1e6:
            out.setdefault(r["fault"], []).append((r["size"], r["found"]))
    return {fault: sorted(points) for fault, points in out.items()}


# ---------------------------------------------------------------------------------------------- whole products, named


def named(trials: int) -> list[dict[str, Any]]:
    """Faults of whole products that other checks let pass: the share found, and what they are called."""
    rows = []
    for what, expected, make in WHOLE:
        names: Counter[str] = Counter()
        found = 0
        for trial in range(trials):
            a, b, c = make(np.random.default_rng(trial))
            result = check_product(a, b, c)
            found += not result.ok
            names[result.name or "nothing"] += 1
        share = names[expected] / trials
        rows.append({"fault": what, "found": found / trials, "named": share, "names": dict(names), "trials": trials})
    return rows


def _zero(scale: float) -> Callable[[np.random.Generator], tuple[Any, Any, Any]]:
    def make(rng: np.random.Generator) -> tuple[Any, Any, Any]:
        a, b, c = _product(rng, "fp32")
        return a * np.float32(scale), b, np.zeros_like(c)

    return make


def _nan(rng: np.random.Generator) -> tuple[Any, Any, Any]:
    a, b, c = _product(rng, "fp32")
    return a, b, np.full_like(c, np.nan)


def _half(rng: np.random.Generator) -> tuple[Any, Any, Any]:
    """fp16 products summed in fp16, returned in fp32 as if they had been summed in fp32."""
    a, b, _ = _product(rng, "fp16")
    return a, b, _summed(a, b, FORMATS["fp16"], 1).astype(np.float32)


def _summed(a: Any, b: Any, fmt: Any, chunk: int) -> Any:
    total = np.zeros((a.shape[0], b.shape[1]))
    for k in range(0, a.shape[1], chunk):
        part = slice(k, k + chunk)
        total = round_to(total + a[:, part].astype(np.float64) @ b[part].astype(np.float64), fmt)
    return total


def _tf32(rng: np.random.Generator) -> tuple[Any, Any, Any]:
    a, b, _ = _product(rng, "fp32")
    x, y = (round_to(np.asarray(v, np.float64), FORMATS["tf32"]) for v in (a, b))
    return a, b, (x.astype(np.float32) @ y.astype(np.float32))


def _fourteen(rng: np.random.Generator) -> tuple[Any, Any, Any]:
    """bf16 operands, sums kept to 14 bits after every 4 products, returned in fp32."""
    a, b, _ = _product(rng, "bf16")
    return a, b, _summed(a, b, accumulator(14), 4).astype(np.float32)


def _half_ulp(dtype: str) -> Callable[[np.random.Generator], tuple[Any, Any, Any]]:
    def make(rng: np.random.Generator) -> tuple[Any, Any, Any]:
        _, out, fmt = products.DTYPES[dtype]
        a, b, _ = _product(rng, dtype)
        factor = np.float32(1 + FORMATS[dtype].u)
        return a, b, (products.blas(a, b, fmt) * factor).astype(out)

    return make


WHOLE: tuple[tuple[str, str, Callable[[np.random.Generator], tuple[Any, Any, Any]]], ...] = (
    ("all NaN", "not_finite", _nan),
    *((f"all zero, A scaled by {s:g}", "zero_filled", _zero(s)) for s in (1e-30, 1e-4, 1.0, 1e4, 1e15)),
    ("fp16 accumulator, fp32 declared", "accumulator_narrowed", _half),
    ("operands cut to tf32", "operand_coerced", _tf32),
    ("14-bit accumulator", "accumulator_narrowed", _fourteen),
    ("scale half a spacing too large, bf16", "scale_wrong", _half_ulp("bf16")),
    ("scale half a spacing too large, fp16", "scale_wrong", _half_ulp("fp16")),
)


# --------------------------------------------------------------------------------------------------- places and repair


def places(trials: int) -> list[dict[str, Any]]:
    """Single elements wrong by 1 to 100 times the floor: found, placed, and repaired to a recomputation's bits."""
    rows = []
    for dtype in ("fp64", "fp32", "fp16", "bf16", "bf16 to fp32"):
        rng = np.random.default_rng(len(dtype))
        found = placed = repaired = 0
        for trial in range(trials):
            if trial % 20 == 0:
                a, b, c = _product(rng, dtype)
                floor = check_product(a, b, c).floor_absolute
            size = 1.1 * floor * 10 ** rng.uniform(0, 2) * (1 if rng.random() < 0.5 else -1)
            i, j = int(rng.integers(c.shape[0])), int(rng.integers(c.shape[1]))
            wrong = c.copy()
            wrong[i, j] = np.asarray(float(c[i, j]) + size).astype(c.dtype)
            result = check_product(a, b, wrong)
            found += not result.ok
            placed += [(f.row, f.column) for f in result.faults] == [(i, j)]
            done = repair(a, b, wrong, lambda c=c: c)  # type: ignore[misc]
            repaired += done.ok and done.value.tobytes() == c.tobytes() and done.rows == ((i,),)
        row = {"dtype": dtype, "found": found / trials, "placed": placed / max(1, found)}
        rows.append(row | {"repaired": repaired / max(1, found), "trials": trials})
    return rows

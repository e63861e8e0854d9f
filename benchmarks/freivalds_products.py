"""Honest products of many kinds: input families, shapes, formats, and kernels that sum in every order."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import ml_dtypes
import numpy as np

from kernel_contracts.formats import FORMATS
from kernel_contracts.numerics.rounding import to_storage
from kernel_contracts.numerics.summation import Order, sum_terms

BF16 = np.dtype(ml_dtypes.bfloat16)
E4M3 = np.dtype(ml_dtypes.float8_e4m3fn)
E5M2 = np.dtype(ml_dtypes.float8_e5m2)

Rng = np.random.Generator
Family = Callable[[Rng, int, int, int], tuple[Any, Any]]


def _normal(rng: Rng, m: int, k: int, n: int) -> tuple[Any, Any]:
    return rng.standard_normal((m, k)), rng.standard_normal((k, n))


def _positive(rng: Rng, m: int, k: int, n: int) -> tuple[Any, Any]:
    return rng.random((m, k)), rng.random((k, n))


def _heavy(rng: Rng, m: int, k: int, n: int) -> tuple[Any, Any]:
    signs = rng.choice([-1.0, 1.0], (m, k)), rng.choice([-1.0, 1.0], (k, n))
    return signs[0] * rng.lognormal(0, 1.5, (m, k)), signs[1] * rng.lognormal(0, 1.5, (k, n))


def _sparse(rng: Rng, m: int, k: int, n: int) -> tuple[Any, Any]:
    a, b = _normal(rng, m, k, n)
    return a * (rng.random((m, k)) < 0.05), b * (rng.random((k, n)) < 0.05)


def _outliers(rng: Rng, m: int, k: int, n: int) -> tuple[Any, Any]:
    a, b = _normal(rng, m, k, n)
    chosen = rng.choice(k, max(1, k // 64), replace=False)
    a[:, chosen] *= 100
    b[chosen] *= rng.choice([1, 100])
    return a, b


def _near_constant(rng: Rng, m: int, k: int, n: int) -> tuple[Any, Any]:
    return 1 + 0.01 * rng.standard_normal((m, k)), 1 + 0.01 * rng.standard_normal((k, n))


def _constant(rng: Rng, m: int, k: int, n: int) -> tuple[Any, Any]:
    return np.full((m, k), rng.uniform(0.05, 2)), np.full((k, n), rng.uniform(0.05, 2))


def _mean_100(rng: Rng, m: int, k: int, n: int) -> tuple[Any, Any]:
    return 100 + rng.standard_normal((m, k)), 100 + rng.standard_normal((k, n))


def _gram(rng: Rng, m: int, k: int, n: int) -> tuple[Any, Any]:
    base = rng.standard_normal((max(m, n), k))
    return base[:m], base[:n].T


def _sorted(rng: Rng, m: int, k: int, n: int) -> tuple[Any, Any]:
    a, b = _normal(rng, m, k, n)
    return np.sort(a, axis=1), np.sort(b, axis=0)


def _interleaved(rng: Rng, m: int, k: int, n: int) -> tuple[Any, Any]:
    signs = np.where(np.arange(k) % 2, -1.0, 1.0)
    return signs + 0.1 * rng.standard_normal((m, k)), 1 + 0.1 * rng.standard_normal((k, n))


def _low_rank(rng: Rng, m: int, k: int, n: int) -> tuple[Any, Any]:
    v = rng.standard_normal(k)
    a = rng.standard_normal((m, 1)) * v + 0.01 * rng.standard_normal((m, k))
    return a, v[:, None] * rng.standard_normal((1, n)) + 0.01 * rng.standard_normal((k, n))


def _softmax_rows(rng: Rng, m: int, k: int, n: int) -> tuple[Any, Any]:
    x = np.exp(4 * rng.standard_normal((m, k)))
    return x / x.sum(axis=1, keepdims=True), rng.standard_normal((k, n))


FAMILIES: dict[str, Family] = {
    "normal": _normal,
    "positive": _positive,
    "heavy-tailed": _heavy,
    "sparse": _sparse,
    "outlier columns": _outliers,
    "near-constant": _near_constant,
    "constant": _constant,
    "mean 100": _mean_100,
    "gram": _gram,
    "sorted": _sorted,
    "interleaved signs": _interleaved,
    "low rank": _low_rank,
    "softmax rows": _softmax_rows,
}

DTYPES: dict[str, tuple[Any, Any, str]] = {
    "fp64": (np.dtype(np.float64), np.dtype(np.float64), "fp64"),
    "fp32": (np.dtype(np.float32), np.dtype(np.float32), "fp32"),
    "fp16": (np.dtype(np.float16), np.dtype(np.float16), "fp32"),
    "bf16": (BF16, BF16, "fp32"),
    "fp16 to fp32": (np.dtype(np.float16), np.dtype(np.float32), "fp32"),
    "bf16 to fp32": (BF16, np.dtype(np.float32), "fp32"),
    "e4m3 to bf16": (E4M3, BF16, "fp32"),
    "e5m2 to fp32": (E5M2, np.dtype(np.float32), "fp32"),
    "fp16 in fp16": (np.dtype(np.float16), np.dtype(np.float16), "fp16"),
    "bf16 in bf16": (BF16, BF16, "bf16"),
}
"""Inputs, output, accumulator."""


def blas(a: Any, b: Any, fmt: str) -> Any:
    """The product by NumPy's BLAS, in fp32 or fp64."""
    dtype = np.float64 if fmt == "fp64" else np.float32
    return np.asarray(a, dtype) @ np.asarray(b, dtype)


def torch_blas(a: Any, b: Any, fmt: str) -> Any:
    """The product by PyTorch's, in fp32 or fp64."""
    import torch

    dtype = np.float64 if fmt == "fp64" else np.float32
    x, y = (torch.from_numpy(np.ascontiguousarray(np.asarray(v, dtype))) for v in (a, b))
    return (x @ y).numpy()


def ordered(a: Any, b: Any, fmt: str, order: Order, fused: bool) -> Any:
    """The product summed in one order, products rounded first or not."""
    terms = np.asarray(a, np.float64)[:, None, :] * np.asarray(b, np.float64).T[None, :, :]
    accumulator = FORMATS[fmt]
    if fused and order.name == "sequential" and fmt in ("fp32", "fp16", "bf16"):
        return _fused(terms, fmt)
    return sum_terms(terms, accumulator, order)


def _fused(terms: Any, fmt: str) -> Any:
    """Multiply-add with one rounding: float64 holds a narrow product exactly, and the sum to 2^-53."""
    from kernel_contracts.numerics.rounding import round_to

    total = np.zeros(terms.shape[:-1])
    for k in range(terms.shape[-1]):
        total = round_to(total + terms[..., k], FORMATS[fmt])
    return total


@dataclass(frozen=True, slots=True)
class Honest:
    """One honest product."""

    family: str
    dtype: str
    kernel: str
    accumulate: str
    a: Any
    b: Any
    c: Any


def honest(
    rng: Rng,
    family: str,
    dtype: str,
    shape: tuple[int, int, int],
    *,
    torch: bool = False,
    order_seed: int | None = None,
) -> Iterator[Honest]:
    """The product of one draw by every kernel that suits its size."""
    m, k, n = shape
    stored, out, fmt = DTYPES[dtype]
    a, b = FAMILIES[family](rng, m, k, n)
    with np.errstate(over="ignore", invalid="ignore"):
        a, b = a.astype(stored), b.astype(stored)
    kernels: list[tuple[str, Callable[[], Any]]] = []
    if fmt in ("fp32", "fp64"):
        kernels.append(("BLAS of NumPy", lambda: blas(a, b, fmt)))
        if torch:
            kernels.append(("BLAS of PyTorch", lambda: torch_blas(a, b, fmt)))
    if m * k * n <= 1 << 18:
        orders = [Order("sequential"), Order("reversed"), Order("pairwise"), Order("split", 4), Order("lanes", 8)]
        orders += [
            Order("blocked", 32),
            Order("shuffled", 1 + (int(rng.integers(999)) if order_seed is None else order_seed % 999)),
        ]
        kernels += [(str(o), lambda o=o: ordered(a, b, fmt, o, False)) for o in orders]  # type: ignore[misc]
        kernels.append(("fused", lambda: ordered(a, b, fmt, Order("sequential"), True)))
    for name, kernel in kernels:
        with np.errstate(over="ignore", invalid="ignore", under="ignore"):
            value = np.asarray(kernel())
            target = next(f for f in FORMATS.values() if f.storage == out.name and f.name != "tf32")
            c = value.astype(out) if value.dtype == out else to_storage(np.asarray(value, np.float64), target)
        yield Honest(family, dtype, name, fmt, a, b, c)

"""Ordinary data for every case: sizes, scales and offsets as tests and workloads have them, nothing sought out."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from case_inputs import BF16, Arrays

Draw = Callable[[np.random.Generator], Arrays]
Array = np.ndarray[Any, Any]


def _size(rng: np.random.Generator, low: int, high: int) -> int:
    """A power of two half the time, as sizes are; any number otherwise, spread evenly over magnitudes."""
    size = int(np.exp(rng.uniform(np.log(low), np.log(high))))
    return 1 << int(np.log2(size)) if rng.random() < 0.5 else size


def _normal(rng: np.random.Generator, shape: tuple[int, ...], dtype: Any = np.float32, scale: float = 1.0) -> Array:
    return (rng.standard_normal(shape) * scale).astype(dtype)


def _power(rng: np.random.Generator, low: float, high: float) -> float:
    return float(10.0 ** rng.uniform(low, high))


def _layernorm(rng: np.random.Generator, offset: float) -> Arrays:
    n = _size(rng, 3, 1000)
    x = (rng.standard_normal((8, n)) + offset).astype(np.float32)
    return x, np.ones(n, np.float32), np.zeros(n, np.float32)


def _sum(rng: np.random.Generator) -> Arrays:
    n = _size(rng, 100, 200_000)
    x = rng.random((2, n)) if rng.random() < 0.5 else rng.standard_normal((2, n))
    return (x.astype(np.float32),)


def _attention(rng: np.random.Generator) -> Arrays:
    shape, scale = (1, 2, _size(rng, 16, 96), 16), _power(rng, 0, 1.3)
    return _normal(rng, shape, scale=scale), _normal(rng, shape), _normal(rng, shape)


def _matmul(rng: np.random.Generator) -> Arrays:
    k = _size(rng, 8, 1024)
    return _normal(rng, (16, k), np.float16), _normal(rng, (k, 16), np.float16)


def _rmsnorm(rng: np.random.Generator) -> Arrays:
    n = _size(rng, 8, 1000)
    return _normal(rng, (8, n), BF16), _normal(rng, (n,), BF16, rng.uniform(0, 2))


def _scaled(rng: np.random.Generator) -> Arrays:
    rows = _size(rng, 2, 64)
    gamma = rng.uniform(0.5, 2, (rows, 1)) if rng.random() < 0.8 else np.ones((rows, 1))
    return _normal(rng, (rows, _size(rng, 2, 64))), gamma.astype(np.float32)


def _gather(rng: np.random.Generator) -> Arrays:
    rows = _size(rng, 16, 2000)
    return _normal(rng, (rows, _size(rng, 8, 128))), rng.integers(0, rows, 32)


DRAWS: dict[str, Draw] = {
    "O01": lambda rng: (_normal(rng, (4, _size(rng, 32, 8192)), BF16, rng.uniform(0.1, 4)),),
    "O02": lambda rng: (_normal(rng, (4, _size(rng, 16, 4096)), BF16),),
    "O03": lambda rng: ((rng.standard_normal((2, _size(rng, 32, 100_000))) + rng.uniform(-2, 2)).astype(np.float16),),
    "O04": lambda rng: _layernorm(rng, _power(rng, -2, 3.5)),
    "O05": _attention,
    "O06": lambda rng: (np.clip(_normal(rng, (4096,), scale=rng.uniform(0.5, 2)), -9, 9),),
    "O12": lambda rng: (_normal(rng, (_size(rng, 16, 4096),), BF16, _power(rng, -2, 2)),),
    "O13": _sum,
    "O14": _matmul,
    "O22": _rmsnorm,
    "O23": _scaled,
    "O24": lambda rng: (_normal(rng, (_size(rng, 16, 4096),)),),
    "O28": lambda rng: _layernorm(rng, rng.uniform(-5, 5)),
    "O29": lambda rng: (_normal(rng, (8, _size(rng, 3, 1000)), scale=rng.uniform(0.5, 3)),),
    "O30": _gather,
}

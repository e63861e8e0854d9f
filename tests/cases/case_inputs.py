"""The inputs of the reports: loud ones that show a fault, silent ones that hide it.

Arrays stand in the order of each contract's scope.
"""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np

BF16 = np.dtype(ml_dtypes.bfloat16)
Arrays = tuple[np.ndarray[Any, Any], ...]


def _normal(seed: int, shape: tuple[int, ...], dtype: Any = np.float32) -> np.ndarray[Any, Any]:
    return np.random.default_rng(seed).standard_normal(shape).astype(dtype)


def _integers(seed: int, shape: tuple[int, ...], high: int, dtype: Any) -> np.ndarray[Any, Any]:
    return np.random.default_rng(seed).integers(0, high, shape).astype(dtype)


def _row(values: Any, dtype: Any = np.float32) -> np.ndarray[Any, Any]:
    return np.asarray(values, dtype=np.float64).astype(dtype)[None]


def _norm_arguments(x: np.ndarray[Any, Any]) -> Arrays:
    """x with gamma = 1 and beta = 0."""
    width = x.shape[-1]
    return x, np.ones(width, x.dtype), np.zeros(width, x.dtype)


def _scores(tiles: list[float], tile: int = 16) -> Arrays:
    """Q, K, V of one head of width 1 whose scores are constant over each tile, and V = 0, 1, 2 ..."""
    k = np.repeat(np.asarray(tiles, np.float32), tile)
    n = len(k)
    return np.ones((1, 1, n, 1), np.float32), k.reshape(1, 1, n, 1), np.arange(n, dtype=np.float32).reshape(1, 1, n, 1)


def _table(rows: int, width: int, indices: int) -> Arrays:
    table = np.arange(rows * width, dtype=np.float32).reshape(rows, width)
    return table, np.arange(rows - indices, rows, dtype=np.int64)


def loud() -> dict[str, Arrays]:
    """For each case an input on which the report shows the fault."""
    return {
        "O01": (np.zeros((1, 512), BF16),),
        "O02": (_normal(0, (1, 10000), BF16),),
        "O03": (np.full((1, 70528), -1.5, np.float16),),
        "O04": _norm_arguments(_row(100 + np.arange(16) * 1e-3)),
        "O05": _scores([100.0, 0.0]),
        "O06": (np.asarray([-3, -4, -5, -5.5, -6], np.float32),),
        "O12": (np.asarray([4.28125, -1.0], BF16),),
        "O13": (np.full((1, 62500), 1.23456, np.float32),),
        # shorter than the report's 4096, at which a worst case of any order admits 0.64
        "O14": (_normal(1, (64, 256), np.float16), _normal(2, (256, 64), np.float16)),
        "O22": (_normal(0, (4, 8), BF16), np.full(8, 15.8125, BF16)),
        "O23": (_row([-1, 1]).repeat(2, axis=0), np.asarray([[1], [10]], np.float32)),
        "O24": (np.asarray([1.00491], np.float32),),
        "O28": _norm_arguments(_row(5 + np.arange(17))),
        "O29": (_row([-3, -2, -1]),),
        "O30": _table(300, 128, 300),
    }


def silent() -> dict[str, list[Arrays]]:
    """For each case inputs on which faulty and sibling agree: ordinary ones, which an ordinary test uses."""
    dominant = np.where(np.arange(512) == 7, 100.0, 0.0)
    tail_only = _normal(1, (128 * 1024,))
    squares = _normal(2, (128, 1024))
    flat = np.full((32, 1), 1.5, np.float32)
    one_large = np.concatenate([_normal(18, (8, 99)), np.full((8, 1), 60, np.float32)], axis=1)
    return {
        "O01": [(np.zeros((3, 256), BF16),), (_row(dominant, BF16),)],
        "O02": [(np.tile(_row([2, 3, 5], BF16), (4, 25)),), (np.abs(_normal(3, (64, 4), BF16)),)],
        "O03": [(_normal(4, (64, 1024), np.float16),)],
        "O04": [_norm_arguments(squares)],
        "O05": [_scores([10.0, 0.0]), tuple(_normal(s, (2, 4, 64, 16)) for s in (5, 6, 7))],
        "O06": [(np.clip(tail_only, -2, None),), (tail_only,)],
        "O12": [(np.asarray([0.25, -2.0, 1.5], BF16),), (np.asarray([64.0, 1.0], BF16),)],
        "O13": [(_integers(8, (4, 4096), 1024, np.float32),)],
        "O14": [
            (_integers(9, (32, 64), 3, np.float16), _integers(10, (64, 16), 3, np.float16)),
            (_normal(11, (16, 1), np.float16), _normal(12, (1, 16), np.float16)),
        ],
        "O22": [(_normal(13, (16, 64), BF16), np.zeros(64, BF16))],
        "O23": [(_normal(14, (32, 64)), flat)],
        "O24": [(_normal(15, (4096,), BF16).astype(np.float32),)],
        "O28": [_norm_arguments(_normal(16, (64, n)) + 5) for n in (4, 32, 128)],
        "O29": [
            (_normal(17, (64, 128)),),
            (one_large,),
        ],
        "O30": [_table(64, 64, 64), _table(256, 128, 256)],
    }

"""Reads and writes by index, in NumPy."""

from __future__ import annotations

import numpy as np

from kernel_contracts.stacks.natives.numpy._arrays import Array, wide


def embedding(table: Array, index: Array) -> Array:
    return table[index]


def index_select(x: Array, index: Array) -> Array:
    return np.take(x, index, axis=1)


def scatter(base: Array, updates: Array, index: Array) -> Array:
    out = base.copy()
    out[index] = updates
    return out


def scatter_add(base: Array, updates: Array, index: Array) -> Array:
    out = wide(base).copy()
    np.add.at(out, index, wide(updates))
    return out.astype(base.dtype)


def index_select_strict(x: Array, index: Array) -> Array:
    """NumPy counts negative indices from the end; who does not want that looks before."""
    if (index < 0).any():
        raise IndexError("an index is negative")
    return np.take(x, index, axis=1)

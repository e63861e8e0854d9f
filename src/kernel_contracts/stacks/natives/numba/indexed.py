"""Reads and writes by index, in Numba, which checks no index unless told to."""

from __future__ import annotations

import numpy as np

from kernel_contracts.stacks.natives.numba._arrays import Array

prange = range


def gather(table: Array, index: Array) -> Array:
    out = np.empty((index.shape[0], table.shape[1]), table.dtype)
    for i in prange(index.shape[0]):
        for d in range(table.shape[1]):
            out[i, d] = table[index[i], d]
    return out


def embedding(table: Array, index: Array) -> Array:
    out = np.empty((index.shape[0], table.shape[1]), table.dtype)
    for i in prange(index.shape[0]):
        for d in range(table.shape[1]):
            out[i, d] = table[index[i], d]
    return out


def index_select(x: Array, index: Array) -> Array:
    out = np.empty((x.shape[0], index.shape[0]), x.dtype)
    for r in prange(x.shape[0]):
        for i in range(index.shape[0]):
            out[r, i] = x[r, index[i]]
    return out


def scatter(base: Array, updates: Array, index: Array) -> Array:
    out = base.copy()
    for i in range(index.shape[0]):
        for d in range(base.shape[1]):
            out[index[i], d] = updates[i, d]
    return out


def scatter_add(base: Array, updates: Array, index: Array) -> Array:
    """One update after another; under `parallel` in many threads without a lock."""
    out = base.copy()
    for i in prange(index.shape[0]):
        for d in range(base.shape[1]):
            out[index[i], d] += updates[i, d]
    return out

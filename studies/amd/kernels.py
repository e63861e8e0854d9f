"""Rows of a table by index, checked before they are read."""

from __future__ import annotations

from typing import Any

import numpy as np


def embedding_jax(table: Any, index: Any) -> Any:
    """Indices without a row raise: looked at on the host, where an error can be raised."""
    import jax.numpy as jnp

    if bool(((index < -table.shape[0]) | (index >= table.shape[0])).any()):
        raise IndexError("an index has no row")
    return jnp.take(table, index, axis=0)


def embedding_mlx(table: Any, index: Any) -> Any:
    """The same; a plain read of a table past its end ends the process."""
    import mlx.core as mx

    if mx.any((index < -table.shape[0]) | (index >= table.shape[0])).item():
        raise IndexError("an index has no row")
    return mx.take(table, index, axis=0)


def embedding_numba(table: Any, index: Any) -> Any:
    """The same in a loop that the stack compiles."""
    rows = np.empty((index.size, table.shape[1]), table.dtype)
    for n in range(index.size):
        if index[n] < -table.shape[0] or index[n] >= table.shape[0]:
            raise IndexError("an index has no row")
        for d in range(table.shape[1]):
            rows[n, d] = table[index[n], d]
    return rows

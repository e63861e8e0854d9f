"""Reads and writes by index, and sorting, in MLX."""

from __future__ import annotations

from kernel_contracts.stacks.natives.mlx._arrays import Array


def gather(table: Array, index: Array) -> Array:
    import mlx.core as mx

    return mx.take(table, index, axis=0)


def embedding(table: Array, index: Array) -> Array:
    return table[index]


def index_select(x: Array, index: Array) -> Array:
    import mlx.core as mx

    return mx.take(x, index, axis=1)


def scatter(base: Array, updates: Array, index: Array) -> Array:
    import mlx.core as mx

    out = mx.array(base)
    out[index] = updates
    return out


def scatter_add(base: Array, updates: Array, index: Array) -> Array:
    return base.at[index].add(updates)


def sort(x: Array) -> tuple[Array, Array]:
    import mlx.core as mx

    index = mx.argsort(x, axis=-1)
    return mx.take_along_axis(x, index, axis=-1), index.astype(mx.int64)

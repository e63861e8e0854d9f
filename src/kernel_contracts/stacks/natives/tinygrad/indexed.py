"""Reads and writes by index, and sorting, in tinygrad."""

from __future__ import annotations

from kernel_contracts.stacks.natives.tinygrad._arrays import Array


def gather(table: Array, index: Array) -> Array:
    return table.gather(0, index.unsqueeze(1).expand(index.shape[0], table.shape[1]))


def embedding(table: Array, index: Array) -> Array:
    """The layer, with this table."""
    from tinygrad import nn

    layer = nn.Embedding(*table.shape)
    layer.weight = table
    return layer(index)


def index_select(x: Array, index: Array) -> Array:
    return x[:, index]


def scatter(base: Array, updates: Array, index: Array) -> Array:
    return base.scatter(0, index.unsqueeze(1).expand(*updates.shape), updates)


def scatter_add(base: Array, updates: Array, index: Array) -> Array:
    return base.scatter_reduce(0, index.unsqueeze(1).expand(*updates.shape), updates, "sum")


def sort(x: Array) -> tuple[Array, Array]:
    """tinygrad gives int32 for the places."""
    from tinygrad import dtypes

    values, index = x.sort(dim=-1)
    return values, index.cast(dtypes.int64)


def topk(x: Array, *, k: int) -> tuple[Array, Array]:
    from tinygrad import dtypes

    values, index = x.topk(k, dim=-1)
    return values, index.cast(dtypes.int64)

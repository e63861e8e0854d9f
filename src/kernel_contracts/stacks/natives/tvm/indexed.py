"""Reads and writes by index, and sorting, in TVM, which checks no index."""

from __future__ import annotations

from kernel_contracts.stacks.natives.tvm._build import Array, Expression, run


def gather(table: Array, index: Array) -> Array:
    return run(_take, table, index, axis=0)


def embedding(table: Array, index: Array) -> Array:
    return run(_take, table, index, axis=0)


def index_select(x: Array, index: Array) -> Array:
    return run(_take, x, index, axis=1)


def _take(x: Expression, index: Expression, axis: int) -> Expression:
    """In the mode that TVM takes by itself."""
    from tvm import topi

    return topi.take(x, index, axis=axis)


def scatter(base: Array, updates: Array, index: Array) -> Array:
    return run(_scattered, base, updates, index, mode="update")


def scatter_add(base: Array, updates: Array, index: Array) -> Array:
    return run(_scattered, base, updates, index, mode="add")


def _scattered(base: Expression, updates: Expression, index: Expression, mode: str) -> Expression:
    from tvm import topi

    return topi.scatter_nd(base, topi.expand_dims(index, 0), updates, mode)


def sort(x: Array) -> tuple[Array, Array]:
    found: tuple[Array, Array] = run(_sort, x)
    return found


def _sort(x: Expression) -> tuple[Expression, Expression]:
    from tvm import topi

    return topi.sort(x, axis=-1), topi.argsort(x, axis=-1, dtype="int64")


def topk(x: Array, *, k: int) -> tuple[Array, Array]:
    found: tuple[Array, Array] = run(_topk, x, k=k)
    return found


def _topk(x: Expression, k: int) -> tuple[Expression, Expression]:
    from tvm import topi

    values, index = topi.topk(x, k=k, axis=-1, dtype="int64")
    return values, index

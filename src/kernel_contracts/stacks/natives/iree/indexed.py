"""Reads and writes by index, and sorting, by IREE."""

from __future__ import annotations

import math

from kernel_contracts.stacks.natives.iree._modules import Array, Graph, Port, made, tensor


def gather(table: Array, index: Array) -> Array:
    return made(_rows, table, index)


def embedding(table: Array, index: Array) -> Array:
    return made(_rows, table, index)


def _rows(g: Graph, table: Port, index: Port) -> Port:
    shape = (index.shape[0], table.shape[1])
    return _gathered(g, table, index, shape, "offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0]",
                     f"1, {table.shape[1]}")  # fmt: skip


def index_select(x: Array, index: Array) -> Array:
    return made(_columns, x, index)


def _columns(g: Graph, x: Port, index: Port) -> Port:
    shape = (x.shape[0], index.shape[0])
    return _gathered(g, x, index, shape, "offset_dims = [0], collapsed_slice_dims = [1], start_index_map = [1]",
                     f"{x.shape[0]}, 1")  # fmt: skip


def _gathered(g: Graph, x: Port, index: Port, shape: tuple[int, int], numbers: str, sizes: str) -> Port:
    text = (
        f'"stablehlo.gather"({x.name}, {index.name}) <{{dimension_numbers = #stablehlo.gather<{numbers}, '
        f"index_vector_dim = 1>, indices_are_sorted = false, slice_sizes = array<i64: {sizes}>}}> "
        f": ({x.type}, {index.type}) -> {tensor(shape, x.element)}"
    )
    return g.raw(text, (shape, x.element))[0]


def scatter(base: Array, updates: Array, index: Array) -> Array:
    return made(lambda g, base, updates, index: _scattered(g, base, updates, index, "%q"), base, updates, index)


def scatter_add(base: Array, updates: Array, index: Array) -> Array:
    """In fp32 at least, as a fused kernel adds."""
    return made(
        lambda g, base, updates, index: g.convert(
            _scattered(g, g.wide(base), g.wide(updates), index, "%sum"), base.element
        ),
        base, updates, index,
    )  # fmt: skip


def _scattered(g: Graph, base: Port, updates: Port, index: Port, kept: str) -> Port:
    rows, e = g.reshape(index, (index.shape[0], 1)), tensor((), base.element)
    text = (
        f'"stablehlo.scatter"({base.name}, {rows.name}, {updates.name}) <{{indices_are_sorted = false, '
        "scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0], "
        "scatter_dims_to_operand_dims = [0], index_vector_dim = 1>, unique_indices = false}> ({\n"
        f"  ^bb0(%p: {e}, %q: {e}):\n    %sum = stablehlo.add %p, %q : {e}\n    stablehlo.return {kept} : {e}\n  }}) "
        f": ({base.type}, {rows.type}, {updates.type}) -> {base.type}"
    )
    return g.raw(text, (base.shape, base.element))[0]


def topk(x: Array, *, k: int) -> tuple[Array, Array]:
    found: tuple[Array, Array] = made(_topk, x, k=k)
    return found


def _topk(g: Graph, x: Port, k: int) -> tuple[Port, Port]:
    shape = (x.shape[0], k)
    text = f"chlo.top_k({x.name}, k = {k}) : {x.type} -> ({tensor(shape, x.element)}, {tensor(shape, 'i32')})"
    values, places = g.raw(text, (shape, x.element), (shape, "i32"))
    return values, g.convert(places, "i64")


def sort(x: Array) -> tuple[Array, Array]:
    found: tuple[Array, Array] = made(_sort, x)
    return found


def _comparable(name: str, e: str, zero: Port, nan: Port) -> str:
    """The lines that make a number comparable by the total order."""
    return (
        f"    %{name}_zero = stablehlo.compare EQ, %{name}, {zero.name}, FLOAT : ({e}, {e}) -> tensor<i1>\n"
        f"    %{name}_one = stablehlo.select %{name}_zero, {zero.name}, %{name} : tensor<i1>, {e}\n"
        f"    %{name}_nan = stablehlo.compare NE, %{name}, %{name}, FLOAT : ({e}, {e}) -> tensor<i1>\n"
        f"    %{name}_key = stablehlo.select %{name}_nan, {nan.name}, %{name}_one : tensor<i1>, {e}\n"
    )


def _sort(g: Graph, x: Port) -> tuple[Port, ...]:
    """By the total order, in which every NaN comes last once it has lost its sign, and the zeros are made one."""
    place, e = g.iota(x.shape, 1), tensor((), x.element)
    zero, nan = g.number(0.0, (), x.element), g.number(math.nan, (), x.element)
    kinds = f"({x.type}, {place.type})"
    text = (
        f'"stablehlo.sort"({x.name}, {place.name}) <{{dimension = 1 : i64, is_stable = true}}> ({{\n'
        f"  ^bb0(%p: {e}, %q: {e}, %i: tensor<i64>, %j: tensor<i64>):\n"
        f"{_comparable('p', e, zero, nan)}{_comparable('q', e, zero, nan)}"
        f"    %less = stablehlo.compare LT, %p_key, %q_key, TOTALORDER : ({e}, {e}) -> tensor<i1>\n"
        f"    stablehlo.return %less : tensor<i1>\n  }}) : {kinds} -> {kinds}"
    )
    return g.raw(text, (x.shape, x.element), (place.shape, "i64"))

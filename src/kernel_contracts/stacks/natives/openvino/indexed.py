"""Reads and writes by index, and sorting, in OpenVINO."""

from __future__ import annotations

from kernel_contracts.stacks.natives.openvino._models import Ops, Port, Value, made, one, whole


def gather(table: Value, index: Value) -> Value:
    return made(lambda ops, table, index: ops.gather(table, index, one(ops, 0)), table, index)


def embedding(table: Value, index: Value) -> Value:
    return made(lambda ops, table, index: ops.gather(table, index, one(ops, 0)), table, index)


def index_select(x: Value, index: Value) -> Value:
    return made(lambda ops, x, index: ops.gather(x, index, one(ops, 1)), x, index)


def scatter(base: Value, updates: Value, index: Value) -> Value:
    return made(_scattered, base, updates, index, reduction="none")


def scatter_add(base: Value, updates: Value, index: Value) -> Value:
    return made(_scattered, base, updates, index, reduction="sum")


def _scattered(ops: Ops, base: Port, updates: Port, index: Port, reduction: str) -> Port:
    return ops.scatter_nd_update(base, ops.unsqueeze(index, whole(ops, 1)), updates, reduction)


def topk(x: Value, *, k: int) -> tuple[Value, Value]:
    """Asked to give equal elements in the order of their places."""
    found: tuple[Value, Value] = made(
        lambda ops, x, k: list(
            ops.topk(x, one(ops, k), -1, "max", "value", index_element_type="i64", stable=True).outputs()
        ),
        x, k=k,
    )  # fmt: skip
    return found


def sort(x: Value) -> tuple[Value, Value]:
    found: tuple[Value, Value] = made(_sort, x)
    return found


def _sort(ops: Ops, x: Port) -> list[Port]:
    length = ops.gather(ops.shape_of(x), one(ops, 1), one(ops, 0))
    return list(ops.topk(x, length, -1, "min", "value", index_element_type="i64", stable=True).outputs())

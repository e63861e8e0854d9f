"""Reads and writes by index, and sorting, as ONNX nodes."""

from __future__ import annotations

from kernel_contracts.stacks.natives.onnxruntime._models import Node, Value, chain, constant, one


def gather(table: Value, index: Value) -> Value:
    return one("Gather", table, index, axis=0)


def embedding(table: Value, index: Value) -> Value:
    return one("Gather", table, index, axis=0)


def index_select(x: Value, index: Value) -> Value:
    return one("Gather", x, index, axis=1)


def scatter(base: Value, updates: Value, index: Value) -> Value:
    return _scattered(base, updates, index, "none")


def scatter_add(base: Value, updates: Value, index: Value) -> Value:
    return _scattered(base, updates, index, "add")


def _scattered(base: Value, updates: Value, index: Value, reduction: str) -> Value:
    nodes = [
        Node("Unsqueeze", ("index", "last"), ("rows",)),
        Node("ScatterND", ("base", "rows", "updates"), ("y",), (("reduction", reduction),)),
    ]
    return chain(nodes, {"base": base, "updates": updates, "index": index, "last": constant([1])})


def topk(x: Value, *, k: int) -> tuple[Value, Value]:
    """The standard gives equal elements in the order of their places."""
    found: tuple[Value, Value] = one("TopK", x, constant([k]), outputs=2, axis=-1)
    return found


def sort(x: Value) -> tuple[Value, Value]:
    found: tuple[Value, Value] = one("TopK", x, constant([x.shape()[-1]]), outputs=2, axis=-1, largest=0)
    return found

"""Tiny models: nodes in, a session out, kept for as long as the process runs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np

from kernel_contracts.stacks.onnxruntime import session

Value = Any
OPSET, IR = 23, 10


@dataclass(frozen=True, slots=True)
class Node:
    """One operator: values by name, attributes as pairs."""

    op: str
    inputs: tuple[str, ...]
    outputs: tuple[str, ...] = ("y",)
    attributes: tuple[tuple[str, Any], ...] = ()


def one(op: str, *values: Value, outputs: int = 1, **attributes: Any) -> Any:
    """One node on its arrays; its output, or a tuple of them."""
    names = tuple(f"x{k}" for k in range(len(values)))
    out = ("y",) if outputs == 1 else tuple(f"y{k}" for k in range(outputs))
    fixed = tuple((k, tuple(v) if isinstance(v, list) else v) for k, v in attributes.items())
    return chain([Node(op, names, out, fixed)], dict(zip(names, values, strict=True)), out)


def chain(nodes: Sequence[Node], values: dict[str, Value], outputs: Sequence[str] = ("y",)) -> Any:
    """Several nodes as one model."""
    types = tuple((name, v.element_type(), len(v.shape())) for name, v in values.items())
    made = _session(tuple(nodes), types, tuple(outputs)).run_with_ort_values(list(outputs), values)
    return made[0] if len(outputs) == 1 else tuple(made)


@cache
def _session(nodes: tuple[Node, ...], inputs: tuple[tuple[str, int, int], ...], outputs: tuple[str, ...]) -> Any:
    from onnx import helper

    made = [helper.make_node(n.op, n.inputs, n.outputs, **dict(n.attributes)) for n in nodes]
    given = [helper.make_tensor_value_info(name, type_, [None] * rank) for name, type_, rank in inputs]
    graph = helper.make_graph(made, "kernel", given, [helper.make_empty_tensor_value_info(name) for name in outputs])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", OPSET)], ir_version=IR)
    return session(model.SerializeToString())


def constant(values: Any, like: Value | None = None) -> Value:
    """Integers as int64, or a number in the format of another value."""
    import onnxruntime

    dtype = np.int64 if like is None else like.numpy().dtype
    return onnxruntime.OrtValue.ortvalue_from_numpy(np.array(values, dtype))

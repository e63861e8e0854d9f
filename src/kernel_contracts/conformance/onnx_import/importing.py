"""The import itself: node after node by its rule, then what no output needs is dropped."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kernel_contracts.conformance.model_file import Model, Step
from kernel_contracts.conformance.onnx_import import (
    rules_elementwise,
    rules_moves,
    rules_products,
    rules_reductions,
)  # fmt: skip
from kernel_contracts.conformance.onnx_import.building import FLOATS, Builder, Made, NoOperation, Value
from kernel_contracts.conformance.onnx_import.folding import known
from kernel_contracts.conformance.onnx_import.reading import Declared, Graph, OnnxNode, read_graph
from kernel_contracts.errors import UsageError
from kernel_contracts.language.diagnostics import did_you_mean

RULES: Mapping[str, Callable[..., Value | list[Value]]] = {
    **rules_elementwise.RULES, **rules_moves.RULES, **rules_products.RULES, **rules_reductions.RULES,
}  # fmt: skip
OF_MADE = ("Add", "Sub", "Mul", "Div", "Pow", "Sqrt", "Erf", "Sigmoid", "MatMul")
"""Nodes that fusing looks at as they are."""


def import_onnx(path: Path, given: Mapping[str, NDArray[Any]]) -> Model:
    """A model that computes what the file does from the inputs `given` by name. UsageError in one sentence."""
    graph = read_graph(path)
    _fitting(path, graph.inputs, given)
    b = Builder()
    values = {n: Value(n, a.shape, a.dtype, a) for n, a in graph.constants.items()}
    for name, array in given.items():
        # integers say what is looked up, and where: that is known; numbers stay what goes in
        data = array.dtype.kind == "f"
        values[name] = Value(name, array.shape, array.dtype, None if data else array)
        if data:
            b.arrays[name] = array
    for node in graph.nodes:
        b.node = node.name
        inputs = [_input(node, values, n) for n in node.inputs]
        outputs = _outputs(b, node, inputs, graph.opset)
        for name, value in zip((n for n in node.outputs if n), outputs, strict=False):
            values[name] = value
    return _finished(b, graph, values)


def _fitting(path: Path, declared: tuple[Declared, ...], given: Mapping[str, NDArray[Any]]) -> None:
    known_names = {d.name: d for d in declared}
    for name in given:
        if name not in known_names:
            raise UsageError(f"{path} has no input {name}; {did_you_mean(name, known_names) or _all(declared)}")
    for d in declared:
        if d.name not in given:
            raise UsageError(f"{path} needs its inputs as arrays of a .npz file, --inputs FILE.npz; {_all(declared)}")
        array = given[d.name]
        fits = len(array.shape) == len(d.shape) and all(
            m is None or m == n for n, m in zip(array.shape, d.shape, strict=True)
        )
        if array.dtype != d.dtype or not fits:
            raise UsageError(f"the input {d.name} is {array.dtype.name}{list(array.shape)}; {path} takes {d}")


def _all(declared: tuple[Declared, ...]) -> str:
    return f"it takes {', '.join(map(str, declared)) or 'none'}"


def _input(node: OnnxNode, values: Mapping[str, Value], name: str) -> Value | None:
    if not name:
        return None
    if name not in values:
        raise NoOperation(f"{node} takes {name}, which no operation here gives")
    return values[name]


def _outputs(b: Builder, node: OnnxNode, inputs: list[Value | None], opset: int) -> list[Value]:
    folded = known(node, inputs, opset)
    if folded is not None:
        return [b.constant(y, n) for y, n in zip(folded, node.outputs, strict=True)]
    rule = RULES.get(node.op)
    if rule is None:
        raise NoOperation(f"{node} has no operation of the standard library")
    wrong = next(
        (v for v in inputs if v is not None and v.dtype.kind not in "iub" and v.dtype.name not in FLOATS), None
    )
    if wrong is not None:
        raise NoOperation(f"{node} takes {wrong.dtype.name}; models of {', '.join(FLOATS)} are read")
    made = rule(b, node, inputs)
    outputs = made if isinstance(made, list) else [made]
    if node.op in OF_MADE or node.op == "ReduceMean":
        _remember(b, node, [v for v in inputs if v is not None], outputs[0])
    return outputs


def _remember(b: Builder, node: OnnxNode, inputs: list[Value], output: Value) -> None:
    attributes: dict[str, Any] = {}
    if node.op == "ReduceMean":
        axes = rules_reductions.axes_of(node, inputs, len(inputs[0].shape))
        attributes = {"axes": axes, "keepdims": bool(node.attributes.get("keepdims", 1))}
    b.made[output.name] = Made(node.op, tuple(inputs), attributes)


def _finished(b: Builder, graph: Graph, values: Mapping[str, Value]) -> Model:
    """Steps that an output needs, in order; each output under the name it has in the file."""
    outputs = [values[n] for n in graph.outputs]
    renamed: dict[str, str] = {}
    for name, value in zip(graph.outputs, outputs, strict=True):
        if value.known is not None or value.name in renamed or value.name in b.arrays:
            b.node = name
            value = b.step("reshape", (value,), value.shape, parameters={"shape": list(value.shape)})
        renamed[value.name] = name
    needed, kept = set(renamed), []
    for step in reversed(b.steps):
        if needed & set(step.outputs):
            needed |= set(step.inputs)
            kept.append(step)
    for step in reversed(kept):
        if step.name in b.refused:
            raise NoOperation(b.refused[step.name])
    steps = tuple(
        Step(
            s.name, s.operation, tuple(renamed.get(n, n) for n in s.inputs),
            tuple(renamed.get(n, n) for n in s.outputs), s.parameters,
        )
        for s in reversed(kept)
    )  # fmt: skip
    arrays = {n: np.ascontiguousarray(a) if a.ndim else a for n, a in b.arrays.items() if n in needed}
    return Model(graph.name, arrays, steps, tuple(graph.outputs))

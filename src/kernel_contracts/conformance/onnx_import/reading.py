"""An .onnx file as plain data: nodes, constants, what goes in and what comes out. The graph is checked, never run."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kernel_contracts.errors import UsageError
from kernel_contracts.stacks.base import installed

OLDEST = 13
"""Operator set from which the axes of Softmax and the inputs of Squeeze are as the rules here take them."""


@dataclass(frozen=True, slots=True)
class OnnxNode:
    """One node of the graph."""

    op: str
    name: str
    inputs: tuple[str, ...]
    """Empty where an optional input is left out."""
    outputs: tuple[str, ...]
    attributes: Mapping[str, Any] = field(default_factory=dict)
    source: Any = None
    """The node as the onnx package has it."""

    def __str__(self) -> str:
        return f"node {self.name} ({self.op})"


@dataclass(frozen=True, slots=True)
class Declared:
    """An input of the graph: its NumPy type, and its sizes where they are fixed."""

    name: str
    dtype: np.dtype[Any]
    shape: tuple[int | None, ...]

    def __str__(self) -> str:
        return f"{self.name} {self.dtype.name}[{', '.join('?' if n is None else str(n) for n in self.shape)}]"


@dataclass(frozen=True, slots=True)
class Graph:
    """All of the file."""

    name: str
    opset: int
    nodes: tuple[OnnxNode, ...]
    constants: Mapping[str, NDArray[Any]]
    inputs: tuple[Declared, ...]
    outputs: tuple[str, ...]


def read_graph(path: Path) -> Graph:
    """Raises UsageError in one sentence where the file is none, or is of a kind that is not read."""
    if not (installed("onnx") and installed("onnxruntime")):
        raise UsageError(
            "reading an .onnx file needs onnx and onnxruntime; run: pip install 'kernel-contracts[onnxruntime]'"
        )
    import onnx
    from google.protobuf.message import DecodeError
    from onnx import inliner

    try:
        model = onnx.load(path)
        model = inliner.inline_local_functions(model) if model.functions else model
        onnx.checker.check_model(model)
    except OSError as error:
        raise UsageError(f"cannot read {path}: {error.strerror or error}") from error
    except (DecodeError, onnx.checker.ValidationError, ValueError, RuntimeError) as error:
        raise UsageError(f"{path} is not a valid ONNX file: {str(error).strip().splitlines()[0]}") from error
    opset = max((o.version for o in model.opset_import if o.domain in ("", "ai.onnx")), default=0)
    if opset < OLDEST:
        raise UsageError(
            f"{path} uses operator set {opset}; {OLDEST} is the oldest read: convert it with onnx.version_converter"
        )
    return _graph(model.graph, opset, path)


def _graph(graph: Any, opset: int, path: Path) -> Graph:
    from onnx import numpy_helper

    base = str(path.resolve().parent)
    constants = {t.name: np.array(numpy_helper.to_array(t, base)) for t in graph.initializer}
    return Graph(
        graph.name or path.stem,
        opset,
        tuple(_node(n, k) for k, n in enumerate(graph.node)),
        constants,
        tuple(_declared(i, path) for i in graph.input if i.name not in constants),
        tuple(o.name for o in graph.output),
    )


def _node(node: Any, place: int) -> OnnxNode:
    from onnx import helper

    op = node.op_type if node.domain in ("", "ai.onnx") else f"{node.domain}.{node.op_type}"
    attributes = {a.name: helper.get_attribute_value(a) for a in node.attribute}
    name = node.name or f"{node.op_type} {place}"
    return OnnxNode(op, name, tuple(node.input), tuple(node.output), attributes, node)


def _declared(value: Any, path: Path) -> Declared:
    from onnx import helper

    if not value.type.HasField("tensor_type"):
        raise UsageError(f"{path}: input {value.name} is no array; models of arrays are read")
    kind = value.type.tensor_type
    sizes = tuple(d.dim_value if d.HasField("dim_value") else None for d in kind.shape.dim)
    return Declared(value.name, np.dtype(helper.tensor_dtype_to_np_dtype(kind.elem_type)), sizes)

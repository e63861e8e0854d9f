"""Shapes, orders of axes, and parts by index: numbers are moved, none is computed."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from kernel_contracts.conformance.onnx_import.building import Builder, NoOperation, Value
from kernel_contracts.conformance.onnx_import.reading import OnnxNode
from kernel_contracts.conformance.onnx_import.rules_reductions import axes_of

Inputs = Sequence[Value]


def integers(node: OnnxNode, value: Value | None, what: str) -> list[int]:
    """A list of integers that is known."""
    if value is None or value.known is None:
        raise NoOperation(f"{node} takes {what} from the data; only what the shapes and constants say can be read")
    return [int(n) for n in np.asarray(value.known).ravel()]


def reshape(b: Builder, node: OnnxNode, inputs: Inputs) -> Value:
    x = inputs[0]
    wanted = integers(node, inputs[1], "a shape")
    if not node.attributes.get("allowzero", 0):
        wanted = [x.shape[k] if n == 0 else n for k, n in enumerate(wanted)]
    rest = math.prod(n for n in wanted if n != -1)
    return b.reshape(x, [x.size // rest if n == -1 and rest else n for n in wanted])


def flatten(b: Builder, node: OnnxNode, inputs: Inputs) -> Value:
    x = inputs[0]
    axis = int(node.attributes.get("axis", 1))
    axis = axis + len(x.shape) if axis < 0 else axis
    return b.reshape(x, (math.prod(x.shape[:axis]), math.prod(x.shape[axis:])))


def transpose(b: Builder, node: OnnxNode, inputs: Inputs) -> Value:
    x = inputs[0]
    return b.permute(x, list(node.attributes.get("perm", range(len(x.shape))[::-1])))


def squeeze(b: Builder, node: OnnxNode, inputs: Sequence[Value | None]) -> Value:
    x = inputs[0]
    assert x is not None
    axes = axes_of(node, inputs, len(x.shape))
    drop = [a for a, n in enumerate(x.shape) if n == 1] if axes is None else axes
    return b.reshape(x, [n for a, n in enumerate(x.shape) if a not in drop])


def unsqueeze(b: Builder, node: OnnxNode, inputs: Inputs) -> Value:
    x = inputs[0]
    rank = len(x.shape) + len(integers(node, inputs[1], "axes"))
    new = axes_of(node, inputs, rank) or []
    sizes = iter(x.shape)
    return b.reshape(x, [1 if a in new else next(sizes) for a in range(rank)])


def expand(b: Builder, node: OnnxNode, inputs: Inputs) -> Value:
    x = inputs[0]
    return b.expand(x, np.broadcast_shapes(x.shape, tuple(integers(node, inputs[1], "a shape"))))


def shape(b: Builder, node: OnnxNode, inputs: Inputs) -> Value:
    sizes = inputs[0].shape[node.attributes.get("start", 0) : node.attributes.get("end")]
    return b.constant(np.array(inputs[0].size if node.op == "Size" else sizes, np.int64))


def concat(b: Builder, node: OnnxNode, inputs: Inputs) -> Value:
    return b.concat(inputs, int(node.attributes["axis"]) % len(inputs[0].shape))


def where(b: Builder, node: OnnxNode, inputs: Inputs) -> Value:
    if inputs[0].known is None:
        raise NoOperation(f"{node} chooses by what was computed; only a known condition moves numbers alone")
    return b.select(*inputs)


def gather(b: Builder, node: OnnxNode, inputs: Inputs) -> Value:
    """Rows of a table. Along another axis that one goes first, and back afterwards."""
    x, index = inputs
    axis = int(node.attributes.get("axis", 0)) % len(x.shape)
    picked = np.asarray(integers(node, index, "its indices"), np.int64).reshape(index.shape)
    return _taken(b, node, x, picked, axis)


def _taken(b: Builder, node: OnnxNode, x: Value, index: np.ndarray[Any, Any], axis: int) -> Value:
    """What `take` of NumPy gives; indices from the end are counted from the front, as some stacks want them."""
    size = x.shape[axis]
    if index.size and not (-size <= index.min() and index.max() < size):
        raise NoOperation(f"{node} asks for an index outside of {size} rows")
    others = [n for a, n in enumerate(x.shape) if a != axis]
    order = [axis, *(a for a in range(len(x.shape)) if a != axis)]
    table = b.reshape(b.permute(x, order), (size, math.prod(others)))
    rows = b.constant(np.where(index < 0, index + size, index).reshape(-1))
    operation = "embedding" if x.known is not None and axis == 0 and len(x.shape) == 2 else "gather"
    found = b.step(operation, (table, rows), (index.size, table.shape[1]), dtype=x.dtype)
    spread = b.reshape(found, (*index.shape, *others))
    places = list(range(index.ndim, index.ndim + len(others)))
    return b.permute(spread, [*places[:axis], *range(index.ndim), *places[axis:]])


def slice_(b: Builder, node: OnnxNode, inputs: Sequence[Value | None]) -> Value:
    x, starts, ends, axes, steps = (*inputs, None, None)[:5]
    assert x is not None
    first, last = integers(node, starts, "its start"), integers(node, ends, "its end")
    along = list(range(len(first))) if axes is None else integers(node, axes, "its axes")
    by = [1] * len(first) if steps is None else integers(node, steps, "its steps")
    for axis, i, j, k in zip(along, first, last, by, strict=True):
        size = x.shape[axis]
        # a start before the first element is the first one; NumPy has ends beyond either end as the standard has them
        picked = np.arange(size)[max(i, -size) : j : k]
        if picked.tolist() != list(range(size)):
            x = _taken(b, node, x, picked, axis % len(x.shape))
    return x


def split(b: Builder, node: OnnxNode, inputs: Sequence[Value | None]) -> list[Value]:
    x = inputs[0]
    assert x is not None
    axis = int(node.attributes.get("axis", 0)) % len(x.shape)
    size, parts = x.shape[axis], len(node.outputs)
    given = inputs[1] if len(inputs) > 1 else None
    each = -(-size // parts)
    sizes = [min(each, size - k * each) for k in range(parts)] if given is None else integers(node, given, "sizes")
    ends = np.cumsum(sizes)
    return [_taken(b, node, x, np.arange(e - n, e), axis) for e, n in zip(ends, sizes, strict=True)]


RULES: Mapping[str, Callable[..., Value | list[Value]]] = {
    "Reshape": reshape, "Flatten": flatten, "Transpose": transpose, "Squeeze": squeeze, "Unsqueeze": unsqueeze,
    "Expand": expand, "Shape": shape, "Size": shape, "Concat": concat, "Where": where, "Gather": gather,
    "Slice": slice_, "Split": split,
}  # fmt: skip

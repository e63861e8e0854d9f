"""What is known when the file is read: shapes, indices and masks, which depend on constants and on integers alone.

Requirement: nothing that is rounded is folded, but single numbers made of constants. ONNX Runtime works
them out, a node at a time.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kernel_contracts.conformance.onnx_import.building import NoOperation, Value
from kernel_contracts.conformance.onnx_import.reading import OnnxNode

EXACT = frozenset(
    {
        *("Cast", "Concat", "Constant", "ConstantOfShape", "Equal", "EyeLike", "Expand", "Flatten", "GatherElements"),
        *("GatherND", "Greater", "GreaterOrEqual", "Identity", "IsInf", "IsNaN", "Less", "LessOrEqual", "Not"),
        *("Reshape", "Shape", "Size", "Slice", "Split", "Squeeze", "Tile", "Transpose", "Trilu", "Unsqueeze", "Where"),
    }
)
"""Operators that round nothing: floats are moved, compared, or made of integers that they hold exactly."""
IR = 10
"""Of the files that are made: old enough for every release that is supported."""
SUBGRAPHS = frozenset({"If", "Loop", "Scan", "SequenceMap"})


def known(node: OnnxNode, inputs: Sequence[Value | None], opset: int) -> list[NDArray[Any]] | None:
    """The outputs, where they are known; None where the node is a step."""
    given = [v for v in inputs if v is not None]
    if node.op in SUBGRAPHS or any(v.known is None for v in given):
        return None
    floats = [v for v in given if v.dtype.kind == "f" and v.size != 1]
    if (floats and node.op not in EXACT) or (not given and node.op.startswith("Random")):
        return None
    values = _evaluated(node, inputs, opset)
    if node.op == "Cast" and not _held(given[0].known, values[0]):
        raise NoOperation(f"{node} rounds constants: store them in the type they are used in")
    return values


def _held(before: Any, after: NDArray[Any]) -> bool:
    """Whether a conversion lost nothing."""
    if after.dtype.kind == "b":
        return True
    with np.errstate(invalid="ignore", over="ignore"):
        return bool(np.array_equal(after.astype(before.dtype), before, equal_nan=before.dtype.kind == "f"))


def _evaluated(node: OnnxNode, inputs: Sequence[Value | None], opset: int) -> list[NDArray[Any]]:
    """The node alone, run by ONNX Runtime."""
    from onnx import helper
    from onnxruntime.capi import onnxruntime_pybind11_state as state

    from kernel_contracts.stacks.onnxruntime import session

    feeds = {n: np.asarray(v.known) for n, v in zip(node.inputs, inputs, strict=True) if v is not None}
    given = [
        helper.make_tensor_value_info(n, helper.np_dtype_to_tensor_dtype(x.dtype), x.shape) for n, x in feeds.items()
    ]
    graph = helper.make_graph(
        [node.source], "one", given, [helper.make_empty_tensor_value_info(n) for n in node.outputs if n]
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=IR)
    try:
        found = session(model.SerializeToString()).run(None, feeds)
    except (
        state.Fail,
        state.InvalidArgument,
        state.InvalidGraph,
        state.NotImplemented,
        state.RuntimeException,
    ) as error:
        raise NoOperation(f"{node} cannot be worked out: {str(error).strip().splitlines()[0]}") from error
    return [np.asarray(y) for y in found]

"""Small ONNX graphs, written node by node, and what ONNX Runtime makes of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

Arrays = Mapping[str, NDArray[Any]]


def node(op: str, inputs: str, outputs: str = "", /, **attributes: Any) -> Any:
    """Named like its output."""
    from onnx import helper

    made = outputs.split() or [f"{op}_out"]
    return helper.make_node(op, [n.strip("-") for n in inputs.split()], made, name=f"/{made[0]}", **attributes)


def write(
    path: Path, nodes: Sequence[Any], inputs: Arrays, outputs: Sequence[str], constants: Arrays | None = None,
    *, opset: int = 20, sizes: bool = True,
) -> Path:  # fmt: skip
    import onnx
    from onnx import helper, numpy_helper

    given = [
        helper.make_tensor_value_info(
            n, helper.np_dtype_to_tensor_dtype(a.dtype), a.shape if sizes else [None] * a.ndim
        )
        for n, a in inputs.items()
    ]
    graph = helper.make_graph(
        list(nodes), "small", given, [helper.make_empty_tensor_value_info(n) for n in outputs],
        [numpy_helper.from_array(np.asarray(a), n) for n, a in (constants or {}).items()],
    )  # fmt: skip
    # without declared outputs the checker is not content, so they are inferred
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=9)
    onnx.save(onnx.shape_inference.infer_shapes(model), path)
    return path


def by_runtime(path: Path, inputs: Arrays) -> list[NDArray[Any]]:
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    session = onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
    return [np.asarray(y) for y in session.run(None, dict(inputs))]

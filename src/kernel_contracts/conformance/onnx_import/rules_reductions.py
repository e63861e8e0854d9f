"""Sums, means, norms, softmax and normalizations: along one axis, or several that are joined into one."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence

import numpy as np

from kernel_contracts.conformance.onnx_import.building import Builder, NoOperation, Value
from kernel_contracts.conformance.onnx_import.numbers import decimal
from kernel_contracts.conformance.onnx_import.reading import OnnxNode

Inputs = Sequence[Value]
REDUCTIONS = {
    "ReduceSum": "sum", "ReduceMean": "mean", "ReduceL2": "norm", "ReduceMax": "max", "ReduceMin": "min",
    "ReduceLogSumExp": "logsumexp",
}  # fmt: skip


def axes_of(node: OnnxNode, inputs: Sequence[Value | None], rank: int) -> list[int] | None:
    """Given as an input or as an attribute; None where neither is."""
    given = inputs[1] if len(inputs) > 1 else None
    if given is not None and given.known is None:
        raise NoOperation(f"{node} takes its axes from the data")
    axes = node.attributes.get("axes") if given is None else np.asarray(given.known).ravel().tolist()
    return None if axes is None else sorted(int(a) % max(rank, 1) for a in axes)


def reduce(b: Builder, node: OnnxNode, inputs: Sequence[Value | None]) -> Value:
    x = inputs[0]
    assert x is not None
    axes = axes_of(node, inputs, len(x.shape))
    if not axes and node.attributes.get("noop_with_empty_axes", 0):
        return x
    return _reduced(b, REDUCTIONS[node.op], x, axes or list(range(len(x.shape))), node.attributes.get("keepdims", 1))


def _reduced(b: Builder, operation: str, x: Value, axes: list[int], keep: int) -> Value:
    moved, _ = b.last(x, axes)
    width = math.prod(x.shape[a] for a in axes)
    rows = b.reshape(moved, (x.size // width if width else 0, width))
    y = b.step(operation, (rows,), rows.shape[:1])
    kept = [1 if a in axes else n for a, n in enumerate(x.shape)]
    return b.reshape(y, kept if keep else [n for a, n in enumerate(x.shape) if a not in axes])


def pool(b: Builder, node: OnnxNode, inputs: Inputs) -> Value:
    return _reduced(b, "mean", inputs[0], list(range(2, len(inputs[0].shape))), 1)


def softmax(b: Builder, node: OnnxNode, inputs: Inputs) -> Value:
    (x,) = inputs
    operation = {"Softmax": "softmax", "LogSoftmax": "log_softmax"}[node.op]
    moved, order = b.last(x, [int(node.attributes.get("axis", -1)) % len(x.shape)])
    rows = b.rows(moved)
    return b.back(b.reshape(b.step(operation, (rows,), rows.shape), moved.shape), order)


def layernorm(b: Builder, node: OnnxNode, inputs: Sequence[Value | None]) -> Value:
    """Over the last axes from `axis` on; without a shift, one of zeros."""
    x, gamma, beta = (*inputs, None)[:3]
    assert x is not None
    assert gamma is not None
    start = int(node.attributes.get("axis", -1)) % len(x.shape)
    inner = x.shape[start:]
    width = math.prod(inner)
    if len(node.outputs) > 1 and any(node.outputs[1:]):
        raise NoOperation(f"{node} gives its mean and its deviation as well; the operation gives the result alone")
    rows = b.reshape(x, (x.size // width if width else 0, width))
    eps = decimal(float(node.attributes.get("epsilon", 1e-5)))
    weights = [b.line(b.expand(gamma, inner))]
    if node.op == "LayerNormalization":
        zeros = b.constant(np.zeros(inner, x.dtype))
        weights.append(b.line(b.expand(zeros if beta is None else beta, inner)))
    operation = {"LayerNormalization": "layernorm", "RMSNormalization": "rmsnorm"}[node.op]
    return b.reshape(b.step(operation, (rows, *weights), rows.shape, parameters={"eps": eps}), x.shape)


RULES: Mapping[str, Callable[..., Value]] = {
    **dict.fromkeys(REDUCTIONS, reduce),
    "GlobalAveragePool": pool, "Softmax": softmax, "LogSoftmax": softmax, "LayerNormalization": layernorm,
    "RMSNormalization": layernorm,
}  # fmt: skip

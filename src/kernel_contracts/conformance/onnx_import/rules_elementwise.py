"""Functions of one element, and arithmetic of two arrays that are spread to one shape."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np

from kernel_contracts.conformance.onnx_import.building import Builder, NoOperation, Value
from kernel_contracts.conformance.onnx_import.fusing import fused_product, fused_sum
from kernel_contracts.conformance.onnx_import.reading import OnnxNode

Inputs = Sequence[Value]
SCALE = (2.0**-10, 2.0**10)
"""Factors that the operation `scale` takes."""


def _rowwise(b: Builder, operation: str, x: Value, **parameters: float) -> Value:
    """An operation whose scope is a matrix."""
    return b.reshape(b.step(operation, (b.rows(x),), b.rows(x).shape, parameters=parameters), x.shape)


def _linewise(b: Builder, operation: str, x: Value) -> Value:
    """An operation whose scope is a line of numbers."""
    return b.reshape(b.step(operation, (b.line(x),), (x.size,)), x.shape)


def _pair(b: Builder, operation: str, x: Value, y: Value) -> Value:
    """Two arrays, spread to one shape."""
    shape = np.broadcast_shapes(x.shape, y.shape)
    one, two = (b.rows(b.expand(v, shape)) for v in (x, y))
    return b.reshape(b.step(operation, (one, two), one.shape), shape)


def add(b: Builder, node: OnnxNode, inputs: Inputs) -> Value:
    x, y = inputs
    return fused_sum(b, x, y) or _pair(b, "add", x, y)


def sub(b: Builder, node: OnnxNode, inputs: Inputs) -> Value:
    """A change of sign is exact, so that a difference is the sum with the opposite."""
    x, y = inputs
    return _pair(b, "add", x, neg(b, node, (y,)))


def neg(b: Builder, node: OnnxNode, inputs: Inputs) -> Value:
    (x,) = inputs
    if x.known is not None:
        return b.constant(-x.known)
    return _pair(b, "mul", x, b.constant(np.array(-1, x.dtype)))


def mul(b: Builder, node: OnnxNode, inputs: Inputs) -> Value:
    x, y = inputs
    found = fused_product(b, x, y)
    if found is not None:
        return found
    for value, factor in ((x, y), (y, x)):
        number = factor.number()
        spread = np.broadcast_shapes(x.shape, y.shape) == value.shape
        if number is not None and value.known is None and spread and SCALE[0] <= number <= SCALE[1]:
            return _rowwise(b, "scale", value, s=number)
    return _pair(b, "mul", x, y)


def div(b: Builder, node: OnnxNode, inputs: Inputs) -> Value:
    return _pair(b, "div", *inputs)


def power(b: Builder, node: OnnxNode, inputs: Inputs) -> Value:
    x, exponent = inputs
    number = exponent.number()
    if number == 2:
        return _pair(b, "mul", x, x)
    if number == 0.5:
        return _rowwise(b, "sqrt", x)
    return refused(b, node, inputs)


def extreme(b: Builder, node: OnnxNode, inputs: Inputs) -> Value:
    found = inputs[0]
    for other in inputs[1:]:
        found = _pair(b, "maximum" if node.op == "Max" else "minimum", found, other)
    return found


def clip(b: Builder, node: OnnxNode, inputs: Sequence[Value | None]) -> Value:
    """Between two limits a clamp; with one, the larger or the smaller of the two."""
    x, low, high = (*inputs, None, None)[:3]
    assert x is not None
    ends = [None if v is None else v.number() for v in (low, high)]
    if any(v is not None and e is None for v, e in zip((low, high), ends, strict=True)):
        raise NoOperation(f"{node} has limits that are computed from the data; only constant ones have an operation")
    if ends[0] is not None and ends[1] is not None:
        return _rowwise(b, "clamp", x, low=ends[0], high=ends[1])
    if low is not None:
        return _pair(b, "maximum", x, low)
    return _pair(b, "minimum", x, high) if high is not None else x


def gelu(b: Builder, node: OnnxNode, inputs: Inputs) -> Value:
    form = node.attributes.get("approximate", b"none")
    return _linewise(b, {b"none": "gelu", b"tanh": "gelu_tanh"}[form], inputs[0])


def one(b: Builder, node: OnnxNode, inputs: Inputs) -> Value:
    """Functions that the library has under a name of its own."""
    operation = {"Relu": "relu", "Exp": "exp", "Sqrt": "sqrt"}[node.op]
    return _rowwise(b, operation, inputs[0])


def erf(b: Builder, node: OnnxNode, inputs: Inputs) -> Value:
    return _linewise(b, "erf", inputs[0])


def refused(b: Builder, node: OnnxNode, inputs: Inputs) -> Value:
    """A function without an operation: an error only if it is not part of a group that is one."""
    shape = np.broadcast_shapes(*(v.shape for v in inputs))
    return b.step(node.op, inputs, shape, refused=f"{node} has no operation of the standard library")


def same(b: Builder, node: OnnxNode, inputs: Sequence[Value | None]) -> Value:
    """Identity, and dropout where nothing is trained."""
    x, *rest = inputs
    assert x is not None
    ratio, training = ([None if v is None else v.number() for v in rest] + [None, None])[:2]
    if node.op == "Dropout" and training not in (None, 0) and ratio != 0:
        raise NoOperation(f"{node} drops elements at random: export the model for inference")
    return x


def cast(b: Builder, node: OnnxNode, inputs: Inputs) -> Value:
    from onnx import helper

    to = np.dtype(helper.tensor_dtype_to_np_dtype(node.attributes["to"]))
    if to != inputs[0].dtype:
        raise NoOperation(f"{node} turns {inputs[0].dtype.name} into {to.name}; models of one type of numbers are read")
    return inputs[0]


RULES: Mapping[str, Callable[..., Value]] = {
    "Add": add, "Sub": sub, "Neg": neg, "Mul": mul, "Div": div, "Pow": power, "Max": extreme, "Min": extreme,
    "Clip": clip, "Gelu": gelu, "Relu": one, "Exp": one, "Sqrt": one, "Erf": erf, "Sigmoid": refused, "Tanh": refused,
    "Identity": same, "Dropout": same, "Cast": cast,
}  # fmt: skip

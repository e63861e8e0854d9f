"""Choices and plain arithmetic, as ONNX nodes."""

from __future__ import annotations

from kernel_contracts.stacks.natives.onnxruntime._models import Node, Value, chain, constant, one


def relu(x: Value) -> Value:
    return one("Relu", x)


def maximum(a: Value, b: Value) -> Value:
    return one("Max", a, b)


def minimum(a: Value, b: Value) -> Value:
    return one("Min", a, b)


def max(x: Value) -> Value:
    return one("ReduceMax", x, constant([-1]), keepdims=0)


def min(x: Value) -> Value:
    return one("ReduceMin", x, constant([-1]), keepdims=0)


def argmax(x: Value) -> Value:
    return one("ArgMax", x, axis=-1, keepdims=0)


def clamp(x: Value, *, low: float = -1.0, high: float = 1.0) -> Value:
    return one("Clip", x, constant(low, x), constant(high, x))


def add(a: Value, b: Value) -> Value:
    return one("Add", a, b)


def mul(a: Value, b: Value) -> Value:
    return one("Mul", a, b)


def div(a: Value, b: Value) -> Value:
    return one("Div", a, b)


def max_pool(x: Value, *, window: int = 2, stride: int = 2) -> Value:
    """Channels without a batch get one for the way."""
    sizes = (("kernel_shape", (window,)), ("strides", (stride,)))
    nodes = [
        Node("Unsqueeze", ("x", "first"), ("batch",)),
        Node("MaxPool", ("batch",), ("pooled",), sizes),
        Node("Squeeze", ("pooled", "first")),
    ]
    return chain(nodes, {"x": x, "first": constant([0])})

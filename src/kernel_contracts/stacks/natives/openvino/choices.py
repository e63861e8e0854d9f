"""Choices and plain arithmetic, in OpenVINO."""

from __future__ import annotations

from kernel_contracts.stacks.natives.openvino._models import Ops, Port, Value, made, one, whole


def relu(x: Value) -> Value:
    return made(lambda ops, x: ops.relu(x), x)


def maximum(a: Value, b: Value) -> Value:
    return made(lambda ops, a, b: ops.maximum(a, b), a, b)


def minimum(a: Value, b: Value) -> Value:
    return made(lambda ops, a, b: ops.minimum(a, b), a, b)


def max(x: Value) -> Value:
    return made(lambda ops, x: ops.reduce_max(x, whole(ops, -1)), x)


def min(x: Value) -> Value:
    return made(lambda ops, x: ops.reduce_min(x, whole(ops, -1)), x)


def argmax(x: Value) -> Value:
    """The set has no other: the index of the first of the largest, asked to keep the order of equal elements."""
    return made(_argmax, x)


def _argmax(ops: Ops, x: Port) -> Port:
    found = ops.topk(x, one(ops, 1), -1, "max", "value", index_element_type="i64", stable=True)
    return ops.squeeze(found.output(1), whole(ops, -1))


def clamp(x: Value, *, low: float = -1.0, high: float = 1.0) -> Value:
    return made(lambda ops, x, low, high: ops.clamp(x, low, high), x, low=low, high=high)


def add(a: Value, b: Value) -> Value:
    return made(lambda ops, a, b: ops.add(a, b), a, b)


def mul(a: Value, b: Value) -> Value:
    return made(lambda ops, a, b: ops.multiply(a, b), a, b)


def div(a: Value, b: Value) -> Value:
    return made(lambda ops, a, b: ops.divide(a, b), a, b)


def max_pool(x: Value, *, window: int = 2, stride: int = 2) -> Value:
    return made(_max_pool, x, window=window, stride=stride)


def _max_pool(ops: Ops, x: Port, window: int, stride: int) -> Port:
    """Channels without a batch get one for the way."""
    batch = ops.unsqueeze(x, whole(ops, 0))
    pooled = ops.max_pool(batch, [stride], [1], [0], [0], [window], index_element_type="i64")
    return ops.squeeze(pooled.output(0), whole(ops, 0))

"""Functions of one element, moves and conversions, as ONNX nodes."""

from __future__ import annotations

from kernel_contracts.stacks.natives.onnxruntime._models import Node, Value, chain, constant, one

_FLOAT, _INT8, _FLOAT16, _BFLOAT16, _E4M3FN, _E5M2 = 1, 3, 10, 16, 17, 19
"""Numbers of `TensorProto.DataType`."""


def gelu(x: Value) -> Value:
    return one("Gelu", x)


def gelu_tanh(x: Value) -> Value:
    return one("Gelu", x, approximate="tanh")


def silu(x: Value) -> Value:
    """As exporters write it."""
    return chain([Node("Sigmoid", ("x",), ("s",)), Node("Mul", ("x", "s"))], {"x": x})


def exp(x: Value) -> Value:
    return one("Exp", x)


def scale(x: Value, *, s: float = 0.5) -> Value:
    return one("Mul", x, constant(s, x))


def copy(x: Value) -> Value:
    return one("Identity", x)


def transpose(x: Value) -> Value:
    return one("Transpose", x)


def pad(x: Value, *, before: int = 1, after: int = 2) -> Value:
    return one("Pad", x, constant([0, before, 0, after]))


def cast_fp32(x: Value) -> Value:
    return one("Cast", x, to=_FLOAT)


def cast_fp16(x: Value) -> Value:
    return one("Cast", x, to=_FLOAT16)


def cast_bf16(x: Value) -> Value:
    return one("Cast", x, to=_BFLOAT16)


def cast_fp8_e4m3fn(x: Value) -> Value:
    return one("Cast", x, to=_E4M3FN)


def cast_fp8_e5m2(x: Value) -> Value:
    return one("Cast", x, to=_E5M2)


def cast_chain(x: Value) -> Value:
    nodes = [Node("Cast", ("x",), ("h",), (("to", _BFLOAT16),)), Node("Cast", ("h",), ("y",), (("to", _FLOAT),))]
    return chain(nodes, {"x": x})


def cast_fp8_e4m3fn_nonsaturating(x: Value) -> Value:
    return one("Cast", x, to=_E4M3FN, saturate=0)


def cast_int8(x: Value) -> Value:
    return one("Cast", x, to=_INT8)


def erf(x: Value) -> Value:
    return one("Erf", x)


def sqrt(x: Value) -> Value:
    return one("Sqrt", x)


def multiply_add(a: Value, b: Value, c: Value) -> Value:
    return chain([Node("Mul", ("a", "b"), ("product",)), Node("Add", ("product", "c"))], {"a": a, "b": b, "c": c})


def mul_chain(x: Value) -> Value:
    """All of it in the format of the data."""
    nodes = [Node("Mul", ("x", "a"), ("up",)), Node("Mul", ("up", "b"))]
    return chain(nodes, {"x": x, "a": constant(1000, x), "b": constant(0.75, x)})

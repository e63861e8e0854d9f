"""Products, as ONNX nodes."""

from __future__ import annotations

from kernel_contracts.stacks.natives.onnxruntime._models import Node, Value, chain, one


def matmul(A: Value, B: Value) -> Value:
    return one("MatMul", A, B)


def batched_matmul(A: Value, W: Value) -> Value:
    return one("MatMul", A, W)


def linear(x: Value, w: Value, b: Value) -> Value:
    return one("Gemm", x, w, b, transB=1)


def linear_gelu(x: Value, w: Value, b: Value) -> Value:
    nodes = [Node("Gemm", ("x", "w", "b"), ("h",), (("transB", 1),)), Node("Gelu", ("h",))]
    return chain(nodes, {"x": x, "w": w, "b": b})


def conv2d(x: Value, w: Value, *, stride: int = 1, padding: int = 0) -> Value:
    return one("Conv", x, w, strides=[stride] * 2, pads=[padding] * 4)

"""Products, in OpenVINO."""

from __future__ import annotations

from kernel_contracts.stacks.natives.openvino._models import Value, made


def matmul(A: Value, B: Value) -> Value:
    return made(lambda ops, A, B: ops.matmul(A, B, False, False), A, B)


def batched_matmul(A: Value, W: Value) -> Value:
    return made(lambda ops, A, W: ops.matmul(A, W, False, False), A, W)


def linear(x: Value, w: Value, b: Value) -> Value:
    return made(lambda ops, x, w, b: ops.add(ops.matmul(x, w, False, True), b), x, w, b)


def linear_gelu(x: Value, w: Value, b: Value) -> Value:
    return made(lambda ops, x, w, b: ops.gelu(ops.add(ops.matmul(x, w, False, True), b), "erf"), x, w, b)


def conv2d(x: Value, w: Value, *, stride: int = 1, padding: int = 0) -> Value:
    return made(
        lambda ops, x, w, stride, padding: ops.convolution(x, w, [stride] * 2, [padding] * 2, [padding] * 2, [1, 1]),
        x, w, stride=stride, padding=padding,
    )  # fmt: skip

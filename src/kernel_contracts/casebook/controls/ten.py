"""Ten kernels that every judge must tell apart: seven that are wrong or on the edge, and four that are right.

Each is made for a matrix product and for a softmax. Adding one ulp is decided by the bound: a result that is rounded
once to bf16 has no ulp to spare, an fp32 softmax, whose exponential alone may err by 3 ulp, has.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import ml_dtypes
import numpy as np

from kernel_contracts.assertions import AssertOptions
from kernel_contracts.casebook.base import Control
from kernel_contracts.tolerances import tolerance

Array = np.ndarray[Any, Any]
Kernel = Callable[..., Array]
ONE = AssertOptions(classes=("C-PRC-01",))
BF16 = np.dtype(ml_dtypes.bfloat16)


def exact(operation: str, *inputs: Array) -> Array:
    """The reference in float64."""
    wide = [x.astype(np.float64) for x in inputs]
    if operation == "matmul":
        return np.asarray(wide[0] @ wide[1])
    e = np.exp(wide[0] - wide[0].max(axis=-1, keepdims=True))
    return np.asarray(e / e.sum(axis=-1, keepdims=True))


def more_accurate(operation: str) -> Kernel:
    return lambda *inputs: exact(operation, *inputs).astype(inputs[0].dtype)


def zeros(operation: str) -> Kernel:
    return lambda *inputs: np.zeros_like(exact(operation, *inputs)).astype(inputs[0].dtype)


def half_tolerance(operation: str) -> Kernel:
    """As far from the reference as half the tolerance and the output's own spacing allow."""

    def kernel(*inputs: Array) -> Array:
        right = exact(operation, *inputs)
        half = np.asarray(tolerance(operation, *inputs, options=ONE)) / 2
        moved = (right + np.where(np.isfinite(half), half, 0.0)).astype(inputs[0].dtype)
        return np.where(np.abs(moved.astype(np.float64) - right) <= half, moved, right.astype(inputs[0].dtype))

    return kernel


def previous_input(operation: str) -> Kernel:
    last: list[Array] = [np.zeros(1)]

    def kernel(*inputs: Array) -> Array:
        right = more_accurate(operation)(*inputs)
        stale = np.resize(last[0], right.shape).astype(right.dtype)
        last[0] = right if right.size else last[0]
        return stale

    return kernel


def inputs_in_bf16(operation: str) -> Kernel:
    return lambda *inputs: more_accurate(operation)(*(x.astype(BF16).astype(x.dtype) for x in inputs))


def last_column_dropped(operation: str) -> Kernel:
    def kernel(*inputs: Array) -> Array:
        y = more_accurate(operation)(*inputs)
        y[..., -1] = 0
        return y

    return kernel


def two_rows_swapped(operation: str) -> Kernel:
    def kernel(*inputs: Array) -> Array:
        y = more_accurate(operation)(*inputs)
        return np.concatenate([y[1:2], y[:1], y[2:]]) if len(y) > 1 else y

    return kernel


def one_ulp_more(operation: str) -> Kernel:
    def kernel(*inputs: Array) -> Array:
        y = more_accurate(operation)(*inputs)
        return np.asarray(np.nextafter(y, np.asarray(np.inf, y.dtype), dtype=y.dtype))

    return kernel


def other_order(operation: str) -> Kernel:
    """Terms from the last to the first, one running total in float32."""

    def kernel(*inputs: Array) -> Array:
        wide = [x.astype(np.float32) for x in inputs]
        if operation == "matmul":
            total = np.zeros((wide[0].shape[0], wide[1].shape[1]), np.float32)
            for k in reversed(range(wide[0].shape[1])):
                total += np.outer(wide[0][:, k], wide[1][k])
            return total.astype(inputs[0].dtype)
        e = np.exp(wide[0] - wide[0].max(axis=-1, keepdims=True))
        return np.asarray((e / np.add.accumulate(e[..., ::-1], axis=-1)[..., -1:]).astype(inputs[0].dtype))

    return kernel


def fused_multiply_add(operation: str) -> Kernel:
    """Products enter their sum unrounded; a quotient is corrected by one such step."""

    def kernel(*inputs: Array) -> Array:
        wide = [x.astype(np.float64) for x in inputs]
        if operation == "matmul":
            total = np.zeros((wide[0].shape[0], wide[1].shape[1]))
            for k in range(wide[0].shape[1]):
                total = (total + np.outer(wide[0][:, k], wide[1][k])).astype(np.float32).astype(np.float64)
            return total.astype(inputs[0].dtype)
        x = wide[0].astype(np.float32)
        e = np.exp(x - x.max(axis=-1, keepdims=True))
        s = e.sum(axis=-1, keepdims=True)
        r = np.float32(1) / s
        q = e * r
        left = (e.astype(np.float64) - s.astype(np.float64) * q).astype(np.float32)
        return np.asarray((q + left.astype(np.float64) * r).astype(np.float32).astype(inputs[0].dtype))

    return kernel


DTYPES = ("fp32", "fp16", "bf16")
RIGHT = (half_tolerance, other_order, fused_multiply_add, more_accurate)
WRONG = (zeros, previous_input, inputs_in_bf16, last_column_dropped, two_rows_swapped, one_ulp_more)
HARMLESS = {(inputs_in_bf16, "matmul", "bf16"), (inputs_in_bf16, "softmax", "bf16"), (one_ulp_more, "softmax", "fp32")}
"""Wrong ones that are right all the same: the inputs are in bf16 already; there is an ulp to spare."""
OPEN = {(one_ulp_more, "softmax", "fp16")}
"""Whether an ulp is to spare depends on the values that are drawn."""


def _controls() -> Iterator[Control]:
    for operation in ("matmul", "softmax"):
        for dtype in DTYPES:
            for make in (*RIGHT, *WRONG):
                if (make, operation, dtype) not in OPEN:
                    right = make in RIGHT or (make, operation, dtype) in HARMLESS
                    name = f"{operation} {dtype}: {make.__name__.replace('_', ' ')}"
                    yield Control(
                        name, make(operation), "C-PRC-01", (dtype,), right, operation, samples=24, limit=1 << 21
                    )


CONTROLS = tuple(_controls())

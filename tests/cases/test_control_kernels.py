"""Ten control kernels: what must be accused is accused, and what is right in another way is not.

Adding one ulp is decided by the bound: a result that is rounded once to bf16 has no ulp to spare, an fp32 softmax,
whose exponential alone may err by 3 ulp, has.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from case_harness import check, conforms
from case_inputs import BF16

from kernel_contracts.assertions import AssertOptions
from kernel_contracts.contracts.evidence import Verdict
from kernel_contracts.tolerances import tolerance

pytestmark = pytest.mark.filterwarnings("ignore::RuntimeWarning")
Array = np.ndarray[Any, Any]
Kernel = Callable[..., Array]
ONE = AssertOptions(classes=("C-PRC-01",))


def exact(operation: str, *inputs: Array) -> Array:
    """The reference in float64."""
    wide = [x.astype(np.float64) for x in inputs]
    if operation == "matmul":
        return wide[0] @ wide[1]
    e = np.exp(wide[0] - wide[0].max(axis=-1, keepdims=True))
    return e / e.sum(axis=-1, keepdims=True)


def more_accurate(operation: str) -> Kernel:
    return lambda *inputs: exact(operation, *inputs).astype(inputs[0].dtype)


def zeros(operation: str) -> Kernel:
    return lambda *inputs: np.zeros_like(exact(operation, *inputs)).astype(inputs[0].dtype)


def half_tolerance(operation: str) -> Kernel:
    """As far from the reference as half the tolerance and the output's own spacing allow."""

    def kernel(*inputs: Array) -> Array:
        right = exact(operation, *inputs)
        half = tolerance(operation, *inputs, options=ONE) / 2
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
    return lambda *inputs: np.nextafter(
        (y := more_accurate(operation)(*inputs)), np.asarray(np.inf, y.dtype), dtype=y.dtype
    )  # fmt: skip


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
        return (e / np.add.accumulate(e[..., ::-1], axis=-1)[..., -1:]).astype(inputs[0].dtype)

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
        return (q.astype(np.float64) + left.astype(np.float64) * r).astype(np.float32).astype(inputs[0].dtype)

    return kernel


OPERATIONS = ("matmul", "softmax")
RIGHT = (half_tolerance, other_order, fused_multiply_add, more_accurate)
WRONG = (zeros, previous_input, inputs_in_bf16, last_column_dropped, two_rows_swapped)


def results(make: Callable[[str], Kernel], operation: str, dtype: str) -> list[Any]:
    return check(
        make(operation), operation=operation, class_id="C-PRC-01", dtypes=(dtype,), seed=10, samples=24, limit=1 << 21
    )


@pytest.mark.parametrize("dtype", ["fp32", "fp16", "bf16"])
@pytest.mark.parametrize("operation", OPERATIONS)
@pytest.mark.parametrize("make", RIGHT, ids=lambda m: m.__name__)
def test_right_in_another_way(make: Callable[[str], Kernel], operation: str, dtype: str) -> None:
    conforms(results(make, operation, dtype))


@pytest.mark.parametrize("dtype", ["fp32", "fp16", "bf16"])
@pytest.mark.parametrize("operation", OPERATIONS)
@pytest.mark.parametrize("make", WRONG, ids=lambda m: m.__name__)
def test_wrong(make: Callable[[str], Kernel], operation: str, dtype: str) -> None:
    if make is inputs_in_bf16 and dtype == "bf16":
        conforms(results(make, operation, dtype))  # they are in bf16 already
        return
    (result,) = results(make, operation, dtype)
    assert result.verdict is Verdict.VIOLATES


@pytest.mark.parametrize(
    ("operation", "dtype", "verdict"),
    [
        ("matmul", "fp32", Verdict.VIOLATES),
        ("matmul", "fp16", Verdict.VIOLATES),
        ("matmul", "bf16", Verdict.VIOLATES),
        ("softmax", "fp32", Verdict.CONFORMS),
        ("softmax", "bf16", Verdict.VIOLATES),
    ],
)
def test_one_ulp_more(operation: str, dtype: str, verdict: Verdict) -> None:
    (result,) = results(one_ulp_more, operation, dtype)
    assert result.verdict is verdict

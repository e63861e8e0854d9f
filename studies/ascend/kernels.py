"""Products of fp8 matrices with fp32 results, and sums as some libraries take them."""

from __future__ import annotations

from typing import Any

import numpy as np


def fp32_sums(A: Any, B: Any) -> Any:
    """As declared."""
    return A.astype(np.float32) @ B.astype(np.float32)


def sums_of_14_bits(A: Any, B: Any) -> Any:
    """Thirty-two products at a time are added up exactly, and to a running sum of 14 bits."""
    a, b = A.astype(np.float64), B.astype(np.float64)
    total = np.zeros((A.shape[0], B.shape[1]))
    for start in range(0, A.shape[1], 32):
        total = _bits(total + a[:, start : start + 32] @ b[start : start + 32], 14)
    return total.astype(np.float32)


def _bits(x: Any, count: int) -> Any:
    """x to the nearest number of `count` bits."""
    fraction, exponent = np.frexp(x)
    return np.ldexp(np.rint(np.ldexp(fraction, count)), exponent - count)


def fp16_sums(A: Any, B: Any) -> Any:
    """A running sum in fp16: 11 bits, and nothing above 65504."""
    a, b = A.astype(np.float32), B.astype(np.float32)
    total = np.zeros((A.shape[0], B.shape[1]), np.float16)
    with np.errstate(over="ignore", invalid="ignore"):
        for k in range(A.shape[1]):
            total = (total.astype(np.float32) + a[:, k, None] * b[None, k]).astype(np.float16)
    return total.astype(np.float32)


def first_half(A: Any, B: Any) -> Any:
    """Stops half way."""
    half = A.shape[1] // 2
    return A[:, :half].astype(np.float32) @ B[:half].astype(np.float32)


def library_sum(x: Any) -> Any:
    """NumPy's sum of bf16 numbers (ml_dtypes)."""
    return x.sum(axis=-1)


def library_sum_fixed(x: Any) -> Any:
    """The same with an accumulator that is named."""
    return x.sum(axis=-1, dtype=np.float32).astype(x.dtype)


def library_all_reduce(rank: int, world: int, x: Any, comm: Any) -> Any:
    """torch.distributed's sum over ranks (gloo), in the format of the data."""
    from kernel_contracts.stacks.natives.torch import collectives

    total = x.clone()
    collectives._group(comm).allreduce([total]).wait()
    return total

"""A product of fp16 matrices by a matrix unit that does not take subnormal operands."""

import ml_dtypes
import numpy as np

from kernel_contracts.casebook.base import Control, FaultCase

CASE = FaultCase("O09", __file__, "C-PRC-03", ("fp16",), ("input_flushed",), "matmul")


def faulty(A, B):
    """The unit flushes them."""
    small = np.float16(2.0**-14)
    A, B = (np.where(np.abs(m) < small, np.float16(0), m) for m in (A, B))
    return sibling(A, B)


def coerced(A, B):
    """The workaround: bf16 operands have the range and not the digits."""
    A, B = (m.astype(ml_dtypes.bfloat16) for m in (A, B))
    return sibling(A, B).astype(np.float16)


def sibling(A, B):
    """Operands in float32."""
    return (A.astype(np.float32) @ B.astype(np.float32)).astype(np.float16)


CONTROLS = (
    Control(
        "a product by the workaround of bf16 operands", coerced, "C-PRC-03", ("fp16",), False, "matmul",
        signatures=("operand_coerced",),
    ),
)  # fmt: skip

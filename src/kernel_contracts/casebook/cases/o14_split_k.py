"""A matrix product with its inner length split in parts."""

import numpy as np

from kernel_contracts.casebook.base import FaultCase

CASE = FaultCase("O14", __file__, "C-ORD-01", ("fp16",), ("partial_sums_narrowed",), contract="matmul_order.kc")

PARTS = 4


def _parts(A, B):
    size = A.shape[-1]
    for k in range(PARTS):
        cut = slice(size * k // PARTS, size * (k + 1) // PARTS)
        yield A[:, cut].astype(np.float32) @ B[cut].astype(np.float32)


def faulty(A, B):
    """Each part is rounded to the output's type and added there."""
    total = np.zeros((A.shape[0], B.shape[1]), A.dtype)
    for part in _parts(A, B):
        total = total + part.astype(A.dtype)
    return total


def sibling(A, B):
    """The parts are added in float32; one rounding."""
    total = np.zeros((A.shape[0], B.shape[1]), np.float32)
    for part in _parts(A, B):
        total = total + part
    return total.astype(A.dtype)

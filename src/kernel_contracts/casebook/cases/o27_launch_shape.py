"""The lower triangle of a product, one row a thread of the second dimension of a block."""

import numpy as np

from kernel_contracts.casebook.base import Control, FaultCase

CASE = FaultCase(
    "O27", __file__, "C-CMP-02", ("fp32",), ("unwritten_output",), contract="tril_matmul.kc", samples=4, alone=True
)

SCHEDULES = [(32, 32), (32,)]


def _launched(A, B, block):
    """A block without its second dimension runs only the first of its 32 rows."""
    out = np.empty((A.shape[0], B.shape[1]), A.dtype)
    rows = slice(None) if len(block) == 2 else slice(None, None, 32)
    out[rows] = np.tril(A @ B)[rows]
    return out


def faulty(A, B):
    return _launched(A, B, (32,))


def one_of_two(A, B, *, schedule=SCHEDULES[0]):
    """The faulty launch is one of the choices, and not the usual one."""
    return _launched(A, B, schedule)


def sibling(A, B):
    return _launched(A, B, (32, 32))


CONTROLS = (
    Control(
        "a flat launch as one of two schedules", one_of_two, "C-CMP-02", ("fp32",), False, contract="tril_matmul.kc",
        signatures=("unwritten_output",), samples=4, alone=True,
    ),
)  # fmt: skip

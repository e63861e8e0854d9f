"""Rows of a table of weights by index."""

import numpy as np

from kernel_contracts.casebook.base import FaultCase

CASE = FaultCase("O34", __file__, "C-EXC-02", ("fp32", "bf16"), ("zero_filled",), "embedding")


def faulty(table, index):
    """A bounds check that masks instead of complaining: rows of zeros."""
    inside = (index >= 0) & (index < table.shape[0])
    return table[np.clip(index, 0, table.shape[0] - 1)] * inside[:, None].astype(table.dtype)


def sibling(table, index):
    if index.size and (index.min() < 0 or index.max() >= table.shape[0]):
        raise IndexError(f"index out of range for {table.shape[0]} rows")
    return table[index]

"""Rows of a table by index, through offsets into its flat memory."""

import numpy as np

from kernel_contracts.casebook.base import FaultCase

CASE = FaultCase("O30", __file__, "C-CMP-03", ("fp32", "fp16"), ("offset_narrowed",), "gather", limit=1 << 30)


def _rows(table, index, width):
    stride = table.shape[1]
    flat = np.ascontiguousarray(table).reshape(-1)
    with np.errstate(over="ignore"):
        first = index.astype(width) * np.asarray(stride, np.int64).astype(width)
    offsets = first.astype(np.int64)[:, None] + np.arange(stride)
    if flat.size == 0 or offsets.size == 0:
        return np.zeros((len(index), stride), table.dtype)
    return np.take(flat, offsets, mode="wrap")  # in front of the table lies foreign memory; here its other end


def faulty(table, index):
    """Offsets in 16 bits wrap at 32768 elements, as those in 32 bits do at 2^31."""
    return _rows(table, index, np.int16)


def sibling(table, index):
    return _rows(table, index, np.int64)

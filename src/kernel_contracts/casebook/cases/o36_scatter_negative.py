"""Rows added to rows of an array by index; what lies outside is dropped."""

import numpy as np

from kernel_contracts.casebook.base import FaultCase

CASE = FaultCase("O36", __file__, "C-EXC-02", ("fp32",), ("wrapped",), contract="scatter_add_drop.kc")


def _add(base, updates, index, inside):
    out = base.astype(np.float64)
    np.add.at(out, index[inside], updates[inside].astype(np.float64))
    return out.astype(base.dtype)


def faulty(base, updates, index):
    """Negative indices are counted from the end before anything is dropped."""
    n = base.shape[0]
    index = np.where(index < 0, index + n, index)
    return _add(base, updates, index, (index >= 0) & (index < n))


def sibling(base, updates, index):
    return _add(base, updates, index, (index >= 0) & (index < base.shape[0]))

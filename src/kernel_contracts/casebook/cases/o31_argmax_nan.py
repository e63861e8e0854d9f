"""The index of the largest element of a row, by a tree of pairs."""

import numpy as np

from kernel_contracts.casebook.base import FaultCase

CASE = FaultCase("O31", __file__, "C-EXC-01", ("fp32",), ("position_dependent", "nan_lost"), "argmax")


def _tree(x, first_wins):
    values, indices = x, np.broadcast_to(np.arange(x.shape[-1]), x.shape)
    while values.shape[-1] > 1:
        half = (values.shape[-1] + 1) // 2
        a, b = values[..., :half], values[..., half:]
        i, j = indices[..., :half], indices[..., half:]
        alone, a, i = (a[..., b.shape[-1] :], i[..., b.shape[-1] :]), a[..., : b.shape[-1]], i[..., : b.shape[-1]]
        take = first_wins(a, i, b, j)
        values = np.concatenate([np.where(take, a, b), alone[0]], axis=-1)
        indices = np.concatenate([np.where(take, i, j), alone[1]], axis=-1)
    return indices[..., 0].astype(np.int64)


def faulty(x):
    """No comparison with NaN is true, so the second of a pair wins wherever there is one."""
    return _tree(x, lambda a, i, b, j: (a > b) | ((a == b) & (i < j)))


def sibling(x):
    def first_wins(a, i, b, j):
        nan_a, nan_b = np.isnan(a), np.isnan(b)
        earlier = (nan_a & nan_b) | (a == b)
        return (nan_a & ~nan_b) | (~nan_b & (a > b)) | (earlier & (i < j))

    return _tree(x, first_wins)

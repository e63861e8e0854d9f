"""Where in the row the largest element of each window of two stands."""

import numpy as np

from kernel_contracts.casebook.base import FaultCase

CASE = FaultCase("O35", __file__, "C-EXC-02", ("fp32",), ("index_misplaced",), contract="max_pool_index.kc")


def _search(x, index, best):
    for k in (0, 1):
        v = x[:, k : index.shape[1] * 2 : 2]
        better = (v > best) | (np.isnan(v) & ~np.isnan(best))
        index = np.where(better, np.arange(index.shape[1]) * 2 + k, index)
        best = np.where(better, v, best)
    return index.astype(np.int64)


def faulty(x):
    """Nothing is larger than minus infinity in a window of nothing else: the index stays where it started, at -1."""
    shape = (x.shape[0], x.shape[1] // 2)
    return _search(x, np.full(shape, -1), np.full(shape, -np.inf))


def sibling(x):
    """The search starts at the first element of the window."""
    shape = (x.shape[0], x.shape[1] // 2)
    return _search(x, np.broadcast_to(np.arange(shape[1]) * 2, shape), x[:, : shape[1] * 2 : 2])


def gradient(x, dy, kernel):
    """The backward pass: what the index is for."""
    dx = np.zeros_like(x)
    for row, (places, values) in enumerate(zip(kernel(x), dy, strict=True)):
        np.add.at(dx[row], places, values)
    return dx

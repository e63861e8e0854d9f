"""The largest element of each window along a row."""

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

from kernel_contracts.casebook.base import FaultCase

CASE = FaultCase("O33", __file__, "C-EXC-01", ("fp32",), ("nan_lost", "inf_lost"), "max_pool")


def _pool(x, window, stride, better):
    windows = sliding_window_view(x, window, axis=-1)[..., ::stride, :]
    best = np.full(windows.shape[:-1], np.finfo(x.dtype).min, dtype=x.dtype)
    for k in range(window):
        v = windows[..., k]
        best = np.where(better(v, best), v, best)
    return best


def faulty(x, *, window=2, stride=2):
    """The search starts at the least finite number and only a larger one replaces it."""
    return _pool(x, window, stride, lambda v, best: v > best)


def sibling(x, *, window=2, stride=2):
    windows = sliding_window_view(x, window, axis=-1)[..., ::stride, :]
    best = windows[..., 0]
    for k in range(1, window):
        v = windows[..., k]
        best = np.where((v > best) | np.isnan(v), v, best)
    return best

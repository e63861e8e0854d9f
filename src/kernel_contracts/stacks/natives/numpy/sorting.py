"""Sorting, in NumPy: by float32 at least, for NumPy does not sort bf16 that holds NaN."""

from __future__ import annotations

import numpy as np

from kernel_contracts.stacks.natives.numpy._arrays import Array, wide


def sort(x: Array) -> tuple[Array, Array]:
    index = np.argsort(wide(x), axis=-1, kind="stable")
    return np.take_along_axis(x, index, -1), index.astype(np.int64)


def topk(x: Array, *, k: int) -> tuple[Array, Array]:
    """A stable descending sort: the reversed row sorted, and read backwards."""
    index = (x.shape[-1] - 1 - np.argsort(wide(x)[..., ::-1], axis=-1, kind="stable")[..., ::-1])[..., :k]
    return np.take_along_axis(x, index, -1), index.astype(np.int64)

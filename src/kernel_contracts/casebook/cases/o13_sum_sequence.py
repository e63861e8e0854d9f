"""A sum along the rows."""

import numpy as np

from kernel_contracts.casebook.base import FaultCase

CASE = FaultCase("O13", __file__, "C-ORD-01", ("fp32",), ("order_exceeded",), "sum", limit=1 << 28)


def faulty(x):
    """One running total in index order: its error grows with the length."""
    if x.shape[-1] == 0:
        return np.zeros(x.shape[:-1], x.dtype)
    return np.add.accumulate(x, axis=-1)[..., -1]


def lanes(x, width=8):
    """`width` running totals side by side, added at the end, as a vector unit does."""
    n = -(-x.shape[-1] // width) * width
    padded = np.zeros((*x.shape[:-1], n), x.dtype)
    padded[..., : x.shape[-1]] = x
    totals = np.add.accumulate(padded.reshape(*x.shape[:-1], -1, width), axis=-2)[..., -1, :]
    return faulty(totals)


def sibling(x):
    """Pairwise: halves are added to halves, log2 of the length deep."""
    while x.shape[-1] > 1:
        odd = x[..., -1:] if x.shape[-1] % 2 else x[..., :0]
        even = x[..., : x.shape[-1] // 2 * 2]
        x = np.concatenate([even[..., 0::2] + even[..., 1::2], odd], axis=-1)
    return x[..., 0] if x.shape[-1] else np.zeros(x.shape[:-1], x.dtype)

"""Softmax on rows padded to the next power of two."""

import numpy as np

from kernel_contracts.casebook.base import FaultCase

CASE = FaultCase("O29", __file__, "C-CMP-03", ("fp32",), ("padding_leaked",), "softmax")


def _softmax(x, fill):
    n = x.shape[-1]
    block = np.full((*x.shape[:-1], 1 << max(n - 1, 0).bit_length()), fill, x.dtype)
    block[..., :n] = x
    e = np.exp(block - block.max(axis=-1, keepdims=True))
    return (e / e.sum(axis=-1, keepdims=True))[..., :n]


def faulty(x):
    """Zero is the neutral element of a sum, not of a softmax."""
    return _softmax(x, 0)


def sibling(x):
    return _softmax(x, -np.inf)

"""Layer normalization on a block as wide as the next power of two."""

import numpy as np

from kernel_contracts.casebook.base import FaultCase

CASE = FaultCase("O28", __file__, "C-CMP-03", ("fp32",), ("padding_leaked",), "layernorm")


def block_of(n):
    return 1 << max(n - 1, 0).bit_length()


def variance(x, masked):
    """Of the rows of `x`; the lanes past the end are loaded as 0."""
    n = x.shape[-1]
    lanes = np.zeros((*x.shape[:-1], block_of(n)), x.dtype)
    lanes[..., :n] = x
    mean = lanes.sum(axis=-1, keepdims=True) / x.dtype.type(n)
    d = lanes - mean
    if masked:
        d[..., n:] = 0
    return (d * d).sum(axis=-1, keepdims=True) / x.dtype.type(n), d[..., :n]


def _normalized(x, gamma, beta, eps, masked):
    squares, d = variance(x, masked)
    return d / np.sqrt(squares + x.dtype.type(eps)) * gamma + beta


def faulty(x, gamma, beta, eps=1e-5):
    """x - mean is -mean in a padded lane: the variance gains (block - n) mean^2 / n."""
    return _normalized(x, gamma, beta, eps, masked=False)


def sibling(x, gamma, beta, eps=1e-5):
    return _normalized(x, gamma, beta, eps, masked=True)

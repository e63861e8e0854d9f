"""Softmax whose denominator is a running total in the type of the input."""

import numpy as np

from kernel_contracts.casebook.base import FaultCase

CASE = FaultCase("O01", __file__, "C-PRC-01", ("bf16", "fp16"), ("accumulator_narrowed",), "softmax", limit=1 << 26)


def faulty(x):
    """In bf16 256 + 1 is 256: 512 equal logits give 1/256 each."""
    wide = x.astype(np.float32)
    e = np.exp(wide - wide.max(axis=-1, keepdims=True)).astype(x.dtype)
    total = np.add.accumulate(e, axis=-1)[..., -1:]
    return (e.astype(np.float32) / total.astype(np.float32)).astype(x.dtype)


def sibling(x):
    """The total in float32, one rounding at the end."""
    wide = x.astype(np.float32)
    e = np.exp(wide - wide.max(axis=-1, keepdims=True))
    return (e / e.sum(axis=-1, keepdims=True)).astype(x.dtype)

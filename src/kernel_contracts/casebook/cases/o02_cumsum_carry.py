"""Running totals whose carry has the type of the input."""

import numpy as np

from kernel_contracts.casebook.base import FaultCase

CASE = FaultCase("O02", __file__, "C-PRC-01", ("bf16", "fp16"), ("accumulator_narrowed",), "cumsum")


def faulty(x):
    """Every step rounds the carry: y_t = round(y_{t-1} + x_t)."""
    return np.add.accumulate(x, axis=-1, dtype=x.dtype)


def sibling(x):
    """The carry in float32, each output rounded once."""
    return np.add.accumulate(x.astype(np.float32), axis=-1).astype(x.dtype)

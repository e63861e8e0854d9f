"""Running totals whose carry has the type of the input."""

import numpy as np


def faulty(x):
    """Every step rounds the carry: y_t = round(y_{t-1} + x_t)."""
    return np.add.accumulate(x, axis=-1, dtype=x.dtype)


def sibling(x):
    """The carry in float32, each output rounded once."""
    return np.add.accumulate(x.astype(np.float32), axis=-1).astype(x.dtype)

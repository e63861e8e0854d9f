"""What every operation of NumPy here needs: its array type, float32 at least, and what two families share."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]


def wide(x: Array) -> Array:
    """The array in the arithmetic that it is computed in: float32 at least."""
    return x if x.dtype.name in ("float32", "float64") else x.astype(np.float32)


def each(f: Any, x: Array) -> Array:
    """A function of the C library on every element, in double precision, rounded to the array's format."""
    return np.asarray(np.vectorize(f, otypes=[np.float64])(x).astype(x.dtype))


def exact_gelu(v: Array) -> Array:
    return np.asarray(0.5 * v * (1 + each(math.erf, v * v.dtype.type(math.sqrt(0.5)))))

"""A platform with two quiet substitutions: GELU by its tanh form, and products of operands with eleven bits each."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]


def gelu(x: Array) -> Array:
    return (0.5 * x * (1 + np.tanh(np.float32(0.7978846) * (x + np.float32(0.044715) * x**3)))).astype(x.dtype)


def _short(x: Array) -> Array:
    """Rounded to the eleven bits of TF32, which is how tensor cores take fp32 in where nobody forbids it."""
    bits = np.ascontiguousarray(x).view(np.uint32)
    return ((bits + 0xFFF + ((bits >> 13) & 1)) & np.uint32(0xFFFFE000)).view(np.float32)


def linear(x: Array, w: Array, b: Array) -> Array:
    return (_short(x) @ _short(w).T + b).astype(x.dtype)

"""Numbers that a graph stores in fp32, as the parameters of a step."""

from __future__ import annotations

from typing import Any

import numpy as np


def decimal(number: float, dtype: np.dtype[Any] | type[np.floating[Any]] = np.float32) -> float:
    """The shortest decimal that is this number in its type: 1e-12 for an attribute that holds 9.99999996e-13."""
    return float(str(np.dtype(dtype).type(number)))

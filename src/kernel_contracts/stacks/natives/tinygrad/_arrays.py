"""What every operation of tinygrad here needs: its array type, and float32 at least."""

from __future__ import annotations

from typing import Any

Array = Any


def wide(x: Array) -> Array:
    """The tensor in float32 at least."""
    from tinygrad import dtypes

    return x if x.dtype in (dtypes.float32, dtypes.float64) else x.cast(dtypes.float32)

"""What every operation of MLX here needs: its array type, and float32 at least."""

from __future__ import annotations

from typing import Any

Array = Any


def wide(x: Array) -> Array:
    """The array in float32 at least."""
    import mlx.core as mx

    return x if x.dtype in (mx.float32, mx.float64) else x.astype(mx.float32)

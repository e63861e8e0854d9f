"""What every operation of JAX here needs: its array type, and float32 at least."""

from __future__ import annotations

from typing import Any

Array = Any


def wide(x: Array) -> Array:
    """The array in float32 at least."""
    import jax.numpy as jnp

    return x if x.dtype in (jnp.float32, jnp.float64) else x.astype(jnp.float32)

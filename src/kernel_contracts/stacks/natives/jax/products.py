"""Products, in JAX."""

from __future__ import annotations

from kernel_contracts.stacks.natives.jax._arrays import Array, wide


def matmul(A: Array, B: Array) -> Array:
    import jax.numpy as jnp

    return jnp.matmul(A, B)


def batched_matmul(A: Array, W: Array) -> Array:
    import jax.numpy as jnp

    return jnp.matmul(A, W)


def linear(x: Array, w: Array, b: Array) -> Array:
    """Widened: the product would be rounded before the bias is added."""
    return (wide(x) @ wide(w).T + wide(b)).astype(x.dtype)


def linear_gelu(x: Array, w: Array, b: Array) -> Array:
    import jax

    return jax.nn.gelu(wide(x) @ wide(w).T + wide(b), approximate=False).astype(x.dtype)


def conv2d(x: Array, w: Array, *, stride: int = 1, padding: int = 0) -> Array:
    import jax

    edges = [(padding, padding)] * 2
    return jax.lax.conv_general_dilated(x, w, (stride, stride), edges, dimension_numbers=("NCHW", "OIHW", "NCHW"))

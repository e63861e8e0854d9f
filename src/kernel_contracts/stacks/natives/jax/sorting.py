"""Sorting, in JAX."""

from __future__ import annotations

from kernel_contracts.stacks.natives.jax._arrays import Array


def sort(x: Array) -> tuple[Array, Array]:
    import jax.numpy as jnp

    index = jnp.argsort(x, axis=-1, stable=True)
    return jnp.take_along_axis(x, index, axis=-1), index


def topk(x: Array, *, k: int) -> tuple[Array, Array]:
    import jax
    import jax.numpy as jnp

    values, index = jax.lax.top_k(x, k)
    return values, index.astype(jnp.int64)

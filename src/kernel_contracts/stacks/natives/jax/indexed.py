"""Reads and writes by index, in JAX."""

from __future__ import annotations

from kernel_contracts.stacks.natives.jax._arrays import Array


def gather(table: Array, index: Array) -> Array:
    import jax.numpy as jnp

    return jnp.take(table, index, axis=0)


def embedding(table: Array, index: Array) -> Array:
    return table[index]


def index_select(x: Array, index: Array) -> Array:
    import jax.numpy as jnp

    return jnp.take(x, index, axis=1)


def scatter(base: Array, updates: Array, index: Array) -> Array:
    return base.at[index].set(updates)


def scatter_add(base: Array, updates: Array, index: Array) -> Array:
    return base.at[index].add(updates)

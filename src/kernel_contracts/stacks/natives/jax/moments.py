"""Sums and moments, in JAX."""

from __future__ import annotations

from kernel_contracts.stacks.natives.jax._arrays import Array, wide


def sum(x: Array) -> Array:
    import jax.numpy as jnp

    return jnp.sum(x, axis=-1)


def mean(x: Array) -> Array:
    import jax.numpy as jnp

    return jnp.mean(x, axis=-1)


def variance(x: Array) -> Array:
    import jax.numpy as jnp

    return jnp.var(x, axis=-1)


def norm(x: Array) -> Array:
    import jax.numpy as jnp

    return jnp.linalg.norm(x, axis=-1)


def cumsum(x: Array) -> Array:
    import jax.numpy as jnp

    return jnp.cumsum(x, axis=-1)


def layernorm(x: Array, gamma: Array, beta: Array, *, eps: float = 1e-5) -> Array:
    """`standardize` is what JAX itself has; its result is scaled in float32."""
    import jax

    return (jax.nn.standardize(wide(x), epsilon=eps) * wide(gamma) + wide(beta)).astype(x.dtype)


def rmsnorm(x: Array, weight: Array, *, eps: float = 1e-6) -> Array:
    import jax
    import jax.numpy as jnp

    v = wide(x)
    return (v * jax.lax.rsqrt(jnp.mean(jnp.square(v), axis=-1, keepdims=True) + eps) * wide(weight)).astype(x.dtype)

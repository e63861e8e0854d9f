"""Choices and plain arithmetic, in JAX."""

from __future__ import annotations

from kernel_contracts.stacks.natives.jax._arrays import Array


def relu(x: Array) -> Array:
    import jax

    return jax.nn.relu(x)


def maximum(a: Array, b: Array) -> Array:
    import jax.numpy as jnp

    return jnp.maximum(a, b)


def minimum(a: Array, b: Array) -> Array:
    import jax.numpy as jnp

    return jnp.minimum(a, b)


def max(x: Array) -> Array:
    import jax.numpy as jnp

    return jnp.max(x, axis=-1)


def min(x: Array) -> Array:
    import jax.numpy as jnp

    return jnp.min(x, axis=-1)


def argmax(x: Array) -> Array:
    import jax.numpy as jnp

    return jnp.argmax(x, axis=-1)


def clamp(x: Array, *, low: float = -1.0, high: float = 1.0) -> Array:
    import jax.numpy as jnp

    return jnp.clip(x, low, high)


def add(a: Array, b: Array) -> Array:
    import jax.numpy as jnp

    return jnp.add(a, b)


def mul(a: Array, b: Array) -> Array:
    import jax.numpy as jnp

    return jnp.multiply(a, b)


def div(a: Array, b: Array) -> Array:
    import jax.numpy as jnp

    return jnp.divide(a, b)


def max_pool(x: Array, *, window: int = 2, stride: int = 2) -> Array:
    import jax

    return jax.lax.reduce_window(x, -float("inf"), jax.lax.max, (1, window), (1, stride), "VALID")

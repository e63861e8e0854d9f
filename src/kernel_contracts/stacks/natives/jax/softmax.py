"""Softmax and its relatives, in JAX."""

from __future__ import annotations

from kernel_contracts.stacks.natives.jax._arrays import Array, wide


def softmax(x: Array) -> Array:
    import jax

    return jax.nn.softmax(x, axis=-1)


def log_softmax(x: Array) -> Array:
    import jax

    return jax.nn.log_softmax(x, axis=-1)


def logsumexp(x: Array) -> Array:
    import jax

    return jax.nn.logsumexp(x, axis=-1)


def cross_entropy(x: Array, target: Array) -> Array:
    """Widened: JAX itself has no loss, so that this is a composition."""
    import jax
    import jax.numpy as jnp

    taken = jnp.take_along_axis(jax.nn.log_softmax(wide(x), axis=-1), target[:, None], axis=-1)
    return -jnp.mean(taken).astype(x.dtype)


def attention(Q: Array, K: Array, V: Array, *, causal: bool = False) -> Array:
    import jax
    import jax.numpy as jnp

    q, k, v = (jnp.swapaxes(t, 1, 2) for t in (Q, K, V))
    return jnp.swapaxes(jax.nn.dot_product_attention(q, k, v, is_causal=causal), 1, 2)

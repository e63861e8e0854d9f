"""Functions of one element, in JAX."""

from __future__ import annotations

import math

from kernel_contracts.stacks.natives.jax._arrays import Array, wide


def gelu(x: Array) -> Array:
    import jax

    return jax.nn.gelu(x, approximate=False)


def gelu_tanh(x: Array) -> Array:
    import jax

    return jax.nn.gelu(x, approximate=True)


def gelu_stable(x: Array) -> Array:
    import jax

    v = wide(x)
    return (0.5 * v * jax.scipy.special.erfc(-v * math.sqrt(0.5))).astype(x.dtype)


def silu(x: Array) -> Array:
    import jax

    return jax.nn.silu(x)


def exp(x: Array) -> Array:
    import jax.numpy as jnp

    return jnp.exp(x)


def scale(x: Array, *, s: float = 0.5) -> Array:
    return x * s


def cast_chain(x: Array) -> Array:
    import jax.numpy as jnp

    return x.astype(jnp.bfloat16).astype(jnp.float32)


def erf(x: Array) -> Array:
    import jax

    return jax.scipy.special.erf(x)


def sqrt(x: Array) -> Array:
    import jax.numpy as jnp

    return jnp.sqrt(x)


def multiply_add(a: Array, b: Array, c: Array) -> Array:
    return a * b + c


def mul_chain(x: Array) -> Array:
    return x * 1000 * 0.75

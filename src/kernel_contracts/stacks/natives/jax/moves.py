"""Moves and conversions, in JAX."""

from __future__ import annotations

from kernel_contracts.stacks.natives.jax._arrays import Array


def copy(x: Array) -> Array:
    import jax.numpy as jnp

    return jnp.copy(x)


def transpose(x: Array) -> Array:
    import jax.numpy as jnp

    return jnp.transpose(x)


def pad(x: Array, *, before: int = 1, after: int = 2) -> Array:
    import jax.numpy as jnp

    return jnp.pad(x, ((0, 0), (before, after)))


def cast_fp32(x: Array) -> Array:
    import jax.numpy as jnp

    return x.astype(jnp.float32)


def cast_fp16(x: Array) -> Array:
    import jax.numpy as jnp

    return x.astype(jnp.float16)


def cast_bf16(x: Array) -> Array:
    import jax.numpy as jnp

    return x.astype(jnp.bfloat16)


def cast_fp8_e4m3fn(x: Array) -> Array:
    import jax.numpy as jnp

    return x.astype(jnp.float8_e4m3fn)


def cast_fp8_e5m2(x: Array) -> Array:
    import jax.numpy as jnp

    return x.astype(jnp.float8_e5m2)


def cast_fp8_e4m3fn_nonsaturating(x: Array) -> Array:
    import jax.numpy as jnp

    return x.astype(jnp.float8_e4m3fn)


def cast_int8(x: Array) -> Array:
    import jax.numpy as jnp

    return x.astype(jnp.int8)

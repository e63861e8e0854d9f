"""Gradients by reverse differentiation, in JAX."""

from __future__ import annotations

from collections.abc import Callable

from kernel_contracts.stacks.natives.jax._arrays import Array
from kernel_contracts.stacks.natives.jax.choices import max_pool
from kernel_contracts.stacks.natives.jax.elementwise import gelu
from kernel_contracts.stacks.natives.jax.moments import layernorm
from kernel_contracts.stacks.natives.jax.softmax import attention


def _gradients(function: Callable[..., Array], inputs: tuple[Array, ...], g: Array) -> tuple[Array, ...]:
    import jax

    made: tuple[Array, ...] = jax.vjp(function, *inputs)[1](g)
    return made


def matmul_backward(A: Array, B: Array, G: Array) -> tuple[Array, ...]:
    import jax.numpy as jnp

    return _gradients(jnp.matmul, (A, B), G)


def linear_backward(x: Array, w: Array, g: Array) -> tuple[Array, ...]:
    import jax.numpy as jnp

    return _gradients(lambda x, w, b: x @ w.T + b, (x, w, jnp.zeros(w.shape[0], w.dtype)), g)


def gelu_backward(x: Array, g: Array) -> Array:
    return _gradients(gelu, (x,), g)[0]


def layernorm_backward(x: Array, gamma: Array, g: Array, *, eps: float = 1e-5) -> tuple[Array, ...]:
    import jax.numpy as jnp

    return _gradients(lambda x, y, b: layernorm(x, y, b, eps=eps), (x, gamma, jnp.zeros_like(gamma)), g)


def attention_backward(Q: Array, K: Array, V: Array, G: Array, *, causal: bool = False) -> tuple[Array, ...]:
    return _gradients(lambda q, k, v: attention(q, k, v, causal=causal), (Q, K, V), G)


def max_pool_backward(x: Array, g: Array, *, window: int = 2, stride: int = 2) -> Array:
    return _gradients(lambda x: max_pool(x, window=window, stride=stride), (x,), g)[0]

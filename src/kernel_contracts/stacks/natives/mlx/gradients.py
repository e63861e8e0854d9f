"""Gradients by reverse differentiation, in MLX."""

from __future__ import annotations

from collections.abc import Callable

from kernel_contracts.stacks.natives.mlx._arrays import Array
from kernel_contracts.stacks.natives.mlx.choices import max_pool
from kernel_contracts.stacks.natives.mlx.elementwise import gelu
from kernel_contracts.stacks.natives.mlx.reductions import attention, layernorm


def _gradients(function: Callable[..., Array], inputs: tuple[Array, ...], g: Array) -> tuple[Array, ...]:
    import mlx.core as mx

    return tuple(mx.vjp(lambda *a: [function(*a)], list(inputs), [g])[1])


def matmul_backward(A: Array, B: Array, G: Array) -> tuple[Array, ...]:
    import mlx.core as mx

    return _gradients(mx.matmul, (A, B), G)


def linear_backward(x: Array, w: Array, g: Array) -> tuple[Array, ...]:
    import mlx.core as mx

    return _gradients(lambda x, w, b: mx.addmm(b, x, w.T), (x, w, mx.zeros(w.shape[0], w.dtype)), g)


def gelu_backward(x: Array, g: Array) -> Array:
    return _gradients(gelu, (x,), g)[0]


def layernorm_backward(x: Array, gamma: Array, g: Array, *, eps: float = 1e-5) -> tuple[Array, ...]:
    import mlx.core as mx

    return _gradients(lambda x, y, b: layernorm(x, y, b, eps=eps), (x, gamma, mx.zeros_like(gamma)), g)


def attention_backward(Q: Array, K: Array, V: Array, G: Array, *, causal: bool = False) -> tuple[Array, ...]:
    return _gradients(lambda q, k, v: attention(q, k, v, causal=causal), (Q, K, V), G)


def max_pool_backward(x: Array, g: Array, *, window: int = 2, stride: int = 2) -> Array:
    return _gradients(lambda x: max_pool(x, window=window, stride=stride), (x,), g)[0]

"""Gradients by reverse differentiation, in tinygrad."""

from __future__ import annotations

from collections.abc import Callable

from kernel_contracts.stacks.natives.tinygrad._arrays import Array
from kernel_contracts.stacks.natives.tinygrad.choices import max_pool
from kernel_contracts.stacks.natives.tinygrad.elementwise import gelu
from kernel_contracts.stacks.natives.tinygrad.reductions import attention, layernorm


def _gradients(function: Callable[..., Array], inputs: tuple[Array, ...], g: Array) -> tuple[Array, ...]:
    made: tuple[Array, ...] = tuple(function(*inputs).gradient(*inputs, gradient=g))
    return made


def matmul_backward(A: Array, B: Array, G: Array) -> tuple[Array, ...]:
    return _gradients(lambda a, b: a.matmul(b), (A, B), G)


def linear_backward(x: Array, w: Array, g: Array) -> tuple[Array, ...]:
    from tinygrad import Tensor

    bias = Tensor.zeros(w.shape[0], dtype=w.dtype, device=w.device)
    return _gradients(lambda x, w, b: x.linear(w.transpose(), b), (x, w, bias), g)


def gelu_backward(x: Array, g: Array) -> Array:
    return _gradients(gelu, (x,), g)[0]


def layernorm_backward(x: Array, gamma: Array, g: Array, *, eps: float = 1e-5) -> tuple[Array, ...]:
    from tinygrad import Tensor

    beta = Tensor.zeros(*gamma.shape, dtype=gamma.dtype, device=gamma.device)
    return _gradients(lambda x, y, b: layernorm(x, y, b, eps=eps), (x, gamma, beta), g)


def attention_backward(Q: Array, K: Array, V: Array, G: Array, *, causal: bool = False) -> tuple[Array, ...]:
    return _gradients(lambda q, k, v: attention(q, k, v, causal=causal), (Q, K, V), G)


def max_pool_backward(x: Array, g: Array, *, window: int = 2, stride: int = 2) -> Array:
    return _gradients(lambda x: max_pool(x, window=window, stride=stride), (x,), g)[0]

"""Sums, softmax and normalizations, in tinygrad."""

from __future__ import annotations

from kernel_contracts.stacks.natives.tinygrad._arrays import Array, wide


def sum(x: Array) -> Array:
    return x.sum(axis=-1)


def mean(x: Array) -> Array:
    return x.mean(axis=-1)


def variance(x: Array) -> Array:
    return x.var(axis=-1, correction=0)


def cumsum(x: Array) -> Array:
    return x.cumsum(axis=-1)


def softmax(x: Array) -> Array:
    return x.softmax(axis=-1)


def log_softmax(x: Array) -> Array:
    return x.log_softmax(axis=-1)


def logsumexp(x: Array) -> Array:
    return x.logsumexp(axis=-1)


def cross_entropy(x: Array, target: Array) -> Array:
    """Widened: the loss would be rounded before its mean."""
    return wide(x).sparse_categorical_crossentropy(target).cast(x.dtype)


def layernorm(x: Array, gamma: Array, beta: Array, *, eps: float = 1e-5) -> Array:
    """What the layer does, widened."""
    return (wide(x).layernorm(axis=-1, eps=eps) * wide(gamma) + wide(beta)).cast(x.dtype)


def rmsnorm(x: Array, weight: Array, *, eps: float = 1e-6) -> Array:
    """The layer, widened."""
    from tinygrad import nn

    layer = nn.RMSNorm(x.shape[-1], eps, elementwise_affine=False)
    return (layer(wide(x)) * wide(weight)).cast(x.dtype)


def attention(Q: Array, K: Array, V: Array, *, causal: bool = False) -> Array:
    return Q.scaled_dot_product_attention(K, V, is_causal=causal)

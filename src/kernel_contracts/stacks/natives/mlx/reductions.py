"""Sums, softmax and normalizations, in MLX."""

from __future__ import annotations

from kernel_contracts.stacks.natives.mlx._arrays import Array, wide


def sum(x: Array) -> Array:
    import mlx.core as mx

    return mx.sum(x, axis=-1)


def mean(x: Array) -> Array:
    import mlx.core as mx

    return mx.mean(x, axis=-1)


def variance(x: Array) -> Array:
    import mlx.core as mx

    return mx.var(x, axis=-1)


def norm(x: Array) -> Array:
    import mlx.core as mx

    return mx.linalg.norm(x, axis=-1)


def cumsum(x: Array) -> Array:
    import mlx.core as mx

    return mx.cumsum(x, axis=-1)


def layernorm(x: Array, gamma: Array, beta: Array, *, eps: float = 1e-5) -> Array:
    import mlx.core as mx

    return mx.fast.layer_norm(x, gamma, beta, eps)


def rmsnorm(x: Array, weight: Array, *, eps: float = 1e-6) -> Array:
    import mlx.core as mx

    return mx.fast.rms_norm(x, weight, eps)


def softmax(x: Array) -> Array:
    import mlx.core as mx

    return mx.softmax(x, axis=-1, precise=True)


def log_softmax(x: Array) -> Array:
    from mlx import nn

    return nn.log_softmax(x, axis=-1)


def logsumexp(x: Array) -> Array:
    import mlx.core as mx

    return mx.logsumexp(x, axis=-1)


def cross_entropy(x: Array, target: Array) -> Array:
    """Widened: the loss would be rounded before its mean."""
    from mlx import nn

    return nn.losses.cross_entropy(wide(x), target, reduction="mean").astype(x.dtype)


def attention(Q: Array, K: Array, V: Array, *, causal: bool = False) -> Array:
    import mlx.core as mx

    mask = "causal" if causal else None
    return mx.fast.scaled_dot_product_attention(Q, K, V, scale=Q.shape[-1] ** -0.5, mask=mask)

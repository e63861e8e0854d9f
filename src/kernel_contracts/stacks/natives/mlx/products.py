"""Products, in MLX."""

from __future__ import annotations

from kernel_contracts.stacks.natives.mlx._arrays import Array, wide


def matmul(A: Array, B: Array) -> Array:
    import mlx.core as mx

    return mx.matmul(A, B)


def batched_matmul(A: Array, W: Array) -> Array:
    import mlx.core as mx

    return mx.matmul(A, W)


def linear(x: Array, w: Array, b: Array) -> Array:
    import mlx.core as mx

    return mx.addmm(b, x, w.T)


def linear_gelu(x: Array, w: Array, b: Array) -> Array:
    """Widened, as a fused kernel computes."""
    import mlx.core as mx
    from mlx import nn

    return nn.gelu(mx.addmm(wide(b), wide(x), wide(w).T)).astype(x.dtype)


def conv2d(x: Array, w: Array, *, stride: int = 1, padding: int = 0) -> Array:
    """Channels go last, as MLX wants them."""
    import mlx.core as mx

    image, filters = mx.transpose(x, (0, 2, 3, 1)), mx.transpose(w, (0, 2, 3, 1))
    return mx.transpose(mx.conv2d(image, filters, stride=stride, padding=padding), (0, 3, 1, 2))

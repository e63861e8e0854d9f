"""Loss scales, quantization scales and the steps of an optimizer, in NumPy."""

from __future__ import annotations

import math

import numpy as np

from kernel_contracts.stacks.natives.numpy._arrays import Array, wide


def unscale(g: Array, *, scale: float = 1.0) -> tuple[Array, Array]:
    v = wide(g)
    return v * np.float32(1 / scale), np.asarray(not np.isfinite(v).all())


def clip_grad(g: Array, b: Array, *, scale: float = 1.0, max_norm: float = 1.0) -> tuple[Array, Array, Array]:
    u, v = g * np.float32(1 / scale), b * np.float32(1 / scale)
    total = np.sqrt(np.sum(u * u) + np.sum(v * v))
    coefficient = np.minimum(np.float32(max_norm) / (total + np.float32(1e-6)), np.float32(1))
    return u * coefficient, v * coefficient, np.asarray(total)


def accumulate_grad(total: Array, g: Array, *, scale: float = 1.0) -> Array:
    for micro_batch in wide(g):
        total = total + micro_batch
    return total * np.float32(1 / scale)


def _to_fp8(x: Array) -> Array:
    import ml_dtypes

    return np.clip(x, np.float32(-448), np.float32(448)).astype(ml_dtypes.float8_e4m3fn)


def quantize_fp8(x: Array) -> tuple[Array, Array]:
    v = wide(x)
    scale = np.float32(448) / np.maximum(np.abs(v).max(), np.float32(1e-12))
    return _to_fp8(v * scale), np.asarray(scale)


def dequantize_fp8(q: Array, scale: Array) -> Array:
    return np.asarray(q.astype(np.float32) / scale)


def fp8_gradient(g: Array, *, s: float = 256.0, q: float = 0.03125) -> Array:
    held = _to_fp8(wide(g) * np.float32(s) / np.float32(q))
    return np.asarray(held.astype(np.float32) * np.float32(q) / np.float32(s))


def adamw_step(
    w: Array, g: Array, m: Array, v: Array, found_inf: Array, *, scale: float = 1.0, step: int = 10,
    lr: float = 1e-3, beta1: float = 0.9, beta2: float = 0.999, eps: float = 1e-8, decay: float = 0.01,
) -> tuple[Array, Array, Array]:  # fmt: skip
    if found_inf:
        return w.copy(), m.copy(), v.copy()
    u = wide(g) * np.float32(1 / scale)
    first = m * np.float32(beta1) + u * np.float32(1 - beta1)
    second = v * np.float32(beta2) + u * u * np.float32(1 - beta2)
    rate, root = lr / (1 - beta1**step), math.sqrt(1 - beta2**step)
    moved = np.float32(rate) * (first / (np.sqrt(second) / np.float32(root) + np.float32(eps)))
    return w * np.float32(1 - lr * decay) - moved, first, second


def loss_scale_update(
    scale: Array, good_steps: Array, found_inf: Array, *, growth: float = 2.0, backoff: float = 0.5, interval: int = 1
) -> tuple[Array, Array]:
    if found_inf:
        return np.asarray(scale * np.float32(backoff)), np.zeros_like(good_steps)
    if good_steps + 1 < interval:
        return scale.copy(), np.asarray(good_steps + 1, good_steps.dtype)
    grown = np.asarray(scale * np.float32(growth))
    return (grown if np.isfinite(grown) else scale.copy()), np.zeros_like(good_steps)


def train_step(
    x: Array, t: Array, w: Array, *, scale: float = 1024.0, lr: float = 0.125, max_norm: float = 1.0,
    decay: float = 0.01,
) -> tuple[Array, Array]:  # fmt: skip
    held = x.dtype
    y = (wide(x) @ wide(w.astype(held))).astype(held)
    dy = ((wide(y) - wide(t)) * np.float32(2 * scale / y.size)).astype(held)
    dw = wide((wide(x).T @ wide(dy)).astype(held))
    if not np.isfinite(dw).all():
        return w.copy(), np.asarray(True)
    u, _, _ = clip_grad(dw, np.zeros(1, np.float32), scale=scale, max_norm=max_norm)
    return w * np.float32(1 - lr * decay) - np.float32(lr) * u, np.asarray(False)

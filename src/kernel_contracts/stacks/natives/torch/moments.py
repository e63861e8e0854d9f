"""Sums and moments, in PyTorch."""

from __future__ import annotations

from kernel_contracts.stacks.natives.torch._arrays import Tensor, wide


def sum(x: Tensor) -> Tensor:
    import torch

    return torch.sum(x, dim=-1)


def mean(x: Tensor) -> Tensor:
    import torch

    return torch.mean(x, dim=-1)


def variance(x: Tensor) -> Tensor:
    import torch

    return torch.var(x, dim=-1, correction=0)


def norm(x: Tensor) -> Tensor:
    import torch

    return torch.linalg.vector_norm(x, dim=-1)


def cumsum(x: Tensor) -> Tensor:
    import torch

    return torch.cumsum(x, dim=-1)


def cdist(a: Tensor, b: Tensor) -> Tensor:
    """From differences: the default goes through a^2 - 2ab + b^2 for more than 25 points and cancels."""
    import torch

    return torch.cdist(a, b, compute_mode="donot_use_mm_for_euclid_dist")


def layernorm(x: Tensor, gamma: Tensor, beta: Tensor, *, eps: float = 1e-5) -> Tensor:
    from torch.nn import functional

    return functional.layer_norm(x, x.shape[-1:], gamma, beta, eps)


def rmsnorm(x: Tensor, weight: Tensor, *, eps: float = 1e-6) -> Tensor:
    from torch.nn import functional

    return functional.rms_norm(x, x.shape[-1:], weight, eps)


def rmsnorm_offset(x: Tensor, w: Tensor, *, eps: float = 1e-6) -> Tensor:
    from torch.nn import functional

    return functional.rms_norm(wide(x), x.shape[-1:], 1 + wide(w), eps).to(x.dtype)


def normalized_scale(x: Tensor, gamma: Tensor, *, eps: float = 1e-5) -> Tensor:
    from torch.nn import functional

    return (functional.layer_norm(wide(x), x.shape[-1:], eps=eps) * wide(gamma)).to(x.dtype)

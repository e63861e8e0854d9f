"""Products, in PyTorch."""

from __future__ import annotations

from kernel_contracts.stacks.natives.torch._arrays import Tensor, wide


def matmul(A: Tensor, B: Tensor) -> Tensor:
    import torch

    return torch.matmul(A, B)


def batched_matmul(A: Tensor, W: Tensor) -> Tensor:
    import torch

    return torch.bmm(A, W)


def linear(x: Tensor, w: Tensor, b: Tensor) -> Tensor:
    from torch.nn import functional

    return functional.linear(x, w, b)


def linear_gelu(x: Tensor, w: Tensor, b: Tensor) -> Tensor:
    from torch.nn import functional

    return functional.gelu(functional.linear(wide(x), wide(w), wide(b))).to(x.dtype)


def conv2d(x: Tensor, w: Tensor, *, stride: int = 1, padding: int = 0) -> Tensor:
    from torch.nn import functional

    return functional.conv2d(x, w, stride=stride, padding=padding)

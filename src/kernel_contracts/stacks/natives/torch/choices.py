"""Choices and plain arithmetic, in PyTorch."""

from __future__ import annotations

from kernel_contracts.stacks.natives.torch._arrays import Tensor


def relu(x: Tensor) -> Tensor:
    import torch

    return torch.relu(x)


def maximum(a: Tensor, b: Tensor) -> Tensor:
    import torch

    return torch.maximum(a, b)


def minimum(a: Tensor, b: Tensor) -> Tensor:
    import torch

    return torch.minimum(a, b)


def max(x: Tensor) -> Tensor:
    import torch

    return torch.amax(x, dim=-1)


def min(x: Tensor) -> Tensor:
    import torch

    return torch.amin(x, dim=-1)


def argmax(x: Tensor) -> Tensor:
    import torch

    return torch.argmax(x, dim=-1)


def clamp(x: Tensor, *, low: float = -1.0, high: float = 1.0) -> Tensor:
    import torch

    return torch.clamp(x, low, high)


def add(a: Tensor, b: Tensor) -> Tensor:
    import torch

    return torch.add(a, b)


def mul(a: Tensor, b: Tensor) -> Tensor:
    import torch

    return torch.mul(a, b)


def div(a: Tensor, b: Tensor) -> Tensor:
    import torch

    return torch.div(a, b)


def max_pool(x: Tensor, *, window: int = 2, stride: int = 2) -> Tensor:
    from torch.nn import functional

    return functional.max_pool1d(x[None], window, stride)[0]

"""Sorting, in PyTorch."""

from __future__ import annotations

from kernel_contracts.stacks.natives.torch._arrays import Tensor


def sort(x: Tensor) -> tuple[Tensor, Tensor]:
    import torch

    found = torch.sort(x, dim=-1, stable=True)
    return found.values, found.indices


def topk(x: Tensor, *, k: int) -> tuple[Tensor, Tensor]:
    """Through a stable sort: torch.topk leaves open which of equal elements come first."""
    import torch

    found = torch.sort(x, dim=-1, descending=True, stable=True)
    return found.values[..., :k].contiguous(), found.indices[..., :k].contiguous()

"""Reads and writes by index, in PyTorch."""

from __future__ import annotations

from kernel_contracts.stacks.natives.torch._arrays import Tensor, wide


def embedding(table: Tensor, index: Tensor) -> Tensor:
    from torch.nn import functional

    return functional.embedding(index, table)


def index_select(x: Tensor, index: Tensor) -> Tensor:
    import torch

    return torch.index_select(x, 1, index)


def scatter(base: Tensor, updates: Tensor, index: Tensor) -> Tensor:
    """Through the last place of each index: PyTorch leaves open which of several copies to one row stays."""
    import torch

    place = torch.arange(index.numel(), device=index.device)
    last = torch.full(base.shape[:1], -1, device=base.device).scatter_reduce(0, index, place, "amax")
    return torch.where((last >= 0)[:, None], updates[last.clamp(min=0)], base) if index.numel() else base.clone()


def scatter_add(base: Tensor, updates: Tensor, index: Tensor) -> Tensor:
    import torch

    return torch.index_add(wide(base), 0, index, wide(updates)).to(base.dtype)


def index_select_strict(x: Tensor, index: Tensor) -> Tensor:
    import torch

    return torch.index_select(x, 1, index)

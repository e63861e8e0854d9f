"""What every operation of PyTorch here needs: its array type, and float32 at least."""

from __future__ import annotations

from typing import Any

Tensor = Any


def wide(x: Tensor) -> Tensor:
    """The tensor in float32 at least."""
    import torch

    return x if x.dtype in (torch.float32, torch.float64) else x.float()

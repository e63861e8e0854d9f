"""The array operations of the screen for tensors of PyTorch, on any device. PyTorch is imported where one is used."""

from __future__ import annotations

from typing import Any

import numpy as np

from kernel_contracts.numerics.freivalds.arrays import DEVICE_BYTES, PANEL_BYTES


class TorchArrays:
    """PyTorch, on the device of its operands. Works outside autograd."""

    def __init__(self, precision: str, device: Any) -> None:
        import torch

        self.precision = precision
        self._torch = torch
        self._device = device
        self.panel = PANEL_BYTES if device.type == "cpu" else DEVICE_BYTES
        self._dtype = torch.float32 if precision == "fp32" else torch.float64

    def wide(self, x: Any) -> Any:
        return x.detach().to(self._dtype)

    def fits(self, x: Any) -> bool:
        return bool(x.dtype == self._dtype)

    def vector(self, x: Any) -> Any:
        return self._torch.from_numpy(np.ascontiguousarray(x)).to(device=self._device, dtype=self._dtype)

    def join_rows(self, parts: list[Any]) -> Any:
        return parts[0] if len(parts) == 1 else self._torch.cat(parts, dim=-1)

    def broadcast(self, x: Any, shape: tuple[int, ...]) -> Any:
        return x.expand(*shape)

    def matvec(self, a: Any, y: Any) -> Any:
        return self._torch.mv(a, y) if a.dim() == 2 and y.dim() == 1 else (a @ y.unsqueeze(-1)).squeeze(-1)

    def square_matvec(self, a: Any, y: Any) -> Any:
        return self.matvec(a * a, y)

    def row_squares(self, a: Any) -> Any:
        return self._torch.linalg.vector_norm(a, dim=-1).square_()

    def column_sums(self, a: Any) -> Any:
        ones = self._torch.ones(a.shape[-2], dtype=self._dtype, device=self._device)
        return self.matvec(self.transpose(a), ones.expand(*a.shape[:-2], -1) if a.dim() > 2 else ones)

    def flat(self, x: Any) -> float | None:
        return None  # to know would be to wait for the device

    def moments(self, x: Any) -> tuple[float, float, float] | None:
        if self._device.type != "cpu":
            return None
        squares = x * x
        return float(x.mean()), float(squares.mean()), float((squares * squares).mean())

    def pick(self, weights: Any, at: Any) -> tuple[Any, Any]:
        running = self._torch.cumsum(weights, 0, dtype=self._torch.float64)
        shares = self._torch.as_tensor(at, device=self._device)
        index = self._torch.searchsorted(running, shares * running[-1])
        return index.clamp_(max=weights.shape[0] - 1), running[-1].to(self._dtype)

    def take(self, x: Any, index: Any) -> Any:
        return self._torch.index_select(x, -1, index)

    def transpose(self, a: Any) -> Any:
        return a.transpose(-1, -2)

    def maximum(self, x: Any, y: Any) -> Any:
        return self._torch.maximum(x, y if isinstance(y, self._torch.Tensor) else self._torch.full_like(x, y))

    def sqrt(self, x: Any) -> Any:
        return self._torch.sqrt(x)

    def join(self, parts: list[Any]) -> Any:
        return self._torch.stack(parts, dim=-1)

    def to_numpy(self, x: Any) -> Any:
        return x.double().cpu().numpy()

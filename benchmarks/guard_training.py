"""A transformer in training, the same every time, and faults planted in its products below a guard."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from typing import Any

import numpy as np
import torch
from torch.utils._python_dispatch import TorchDispatchMode

from kernel_contracts.numerics.injection import inject

PRODUCTS = ("aten::mm", "aten::addmm", "aten::bmm", "aten::sum")


class Training:
    """Encoder layers that learn to turn a sequence round. `fused` leaves out dropout, so that attention is fused."""

    def __init__(self, width: int, layers: int, tokens: int, sequences: int = 4, fused: bool = False) -> None:
        torch.manual_seed(0)
        layer = torch.nn.TransformerEncoderLayer
        dropout = 0.0 if fused else 0.1
        self.model: Any = torch.nn.Sequential(
            *[layer(width, max(1, width // 64), 4 * width, batch_first=True, dropout=dropout) for _ in range(layers)]
        )
        self.shape = (sequences, tokens, width)
        self.optimizer = torch.optim.AdamW(self.model.parameters(), 1e-3)

    def step(self, seed: int, inside: AbstractContextManager[Any] | None = None) -> float:
        """One step, forward and backward `inside`; everything random in it follows from the seed."""
        torch.manual_seed(seed)
        x = torch.randn(*self.shape)
        self.optimizer.zero_grad()
        with inside or nullcontext():
            loss = (self.model(x) - x.flip(1)).square().mean()
            loss.backward()
        self.optimizer.step()
        return float(loss.item())

    def state(self) -> dict[str, Any]:
        return {"model": self.model.state_dict(), "optimizer": self.optimizer.state_dict()}

    def load(self, state: dict[str, Any]) -> None:
        self.model.load_state_dict(state["model"])
        self.optimizer.load_state_dict(state["optimizer"])


class Pass(TorchDispatchMode):
    """Does nothing: what it costs PyTorch to call a dispatch mode."""

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        return func(*args, **kwargs) if kwargs else func(*args)


class Names(TorchDispatchMode):
    """The products of a step, in order."""

    def __init__(self) -> None:
        super().__init__()
        self.names: list[str] = []

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if watched(func, args):
            self.names.append(func._schema.name[6:])
        return func(*args, **(kwargs or {}))


class Plant(TorchDispatchMode):
    """Plants one fault in product number `at`, below the guard."""

    def __init__(self, at: int, spoil: Callable[[Any, Any, Any], Any]) -> None:
        super().__init__()
        self.at, self.spoil, self.seen = at, spoil, 0
        self.size = self.changed = 0.0
        """Largest change over the product's rms, and the elements that differ."""

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        out = func(*args, **(kwargs or {}))
        if watched(func, args):
            if self.seen == self.at:
                self._spoil(func._schema.name, args, out)
            self.seen += 1
        return out

    def _spoil(self, name: str, args: Any, out: Any) -> None:
        a, b = (args[0], args[1]) if name == "aten::mm" else (None, None)
        matrix = out.view(-1, out.shape[-1])  # of a batch one matrix below the other
        before = matrix.clone()
        after = self.spoil(matrix.numpy(), *(None if x is None else x.detach().numpy() for x in (a, b)))
        matrix.copy_(torch.from_numpy(np.ascontiguousarray(after)))
        rms = before.double().square().mean().sqrt().item()
        change = (matrix.double() - before.double()).abs().nan_to_num(nan=np.inf).max().item()
        self.size = change / rms if rms > 0 else 0.0
        self.changed = float((matrix.view(torch.int32) != before.view(torch.int32)).sum().item())


def watched(func: Any, args: Any) -> bool:
    """Whether a guard counts this as a product of a transformer."""
    name = func._schema.name
    if name == "aten::sum":
        return func._overloadname == "dim_IntList" and args[0].dim() == 2 and [d % 2 for d in args[1]] == [0]
    return name in PRODUCTS


def planter(kind: str, number: int | None, seed: int) -> Callable[[Any, Any, Any], Any]:
    """The fault as a function of a product and its operands."""

    def spoil(c: Any, a: Any, b: Any) -> Any:
        if kind == "all_nan":
            return np.full_like(c, np.nan)
        if kind == "all_zero":
            return np.zeros_like(c)
        return inject(kind, c, a=a, b=b, number=number, seed=seed).value

    return spoil

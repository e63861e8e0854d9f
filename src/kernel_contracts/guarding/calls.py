"""One product of a PyTorch program, as operands that can be verified; the screen of it; weights kept between calls."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from kernel_contracts.numerics.freivalds.arrays import adapter
from kernel_contracts.numerics.freivalds.operands import understand
from kernel_contracts.numerics.freivalds.quantiles import deviation
from kernel_contracts.numerics.freivalds.screen import Right, prepare, screen
from kernel_contracts.numerics.freivalds.vectors import draw


@dataclass(frozen=True, slots=True)
class Call:
    """c = alpha a b + beta addend."""

    operation: str
    a: Any
    b: Any
    c: Any
    alpha: float = 1.0
    beta: float = 0.0
    addend: Any = None

    @property
    def work(self) -> float:
        """Elements to read."""
        return float(self.a.numel() + self.b.numel() + self.c.numel())

    @property
    def flops(self) -> float:
        return float(2 * self.c.numel() * self.a.shape[-1])

    @property
    def forms(self) -> dict[str, Any]:
        """Keyword arguments of `check_product`."""
        return {"alpha": self.alpha, "beta": self.beta, "addend": self.addend}


PRODUCTS = ("mm", "addmm", "bmm", "baddbmm")
UNCOVERED = (
    "convolution", "convolution_backward", "_scaled_dot_product_flash_attention_for_cpu",
    "_scaled_dot_product_flash_attention_for_cpu_backward", "_scaled_dot_product_flash_attention",
    "_scaled_dot_product_efficient_attention", "_scaled_dot_product_cudnn_attention", "_scaled_mm", "_int_mm",
    "mkldnn_linear", "addmv", "mv", "dot", "addbmm", "addmm_", "baddbmm_",
)  # fmt: skip
"""Operations that multiply matrices, or hide it, and are not verified: they are counted, so that nobody is misled."""
_FLOATS = ("float32", "float64", "float16", "bfloat16")


def hidden(args: Sequence[Any], kwargs: Mapping[str, Any], out: Any) -> bool:
    """Whether the operands are out of sight: tensors without plain memory, an addend that the result may overwrite."""
    import torch

    def plain(x: Any) -> bool:
        return type(x) in (torch.Tensor, torch.nn.Parameter) and x.layout == torch.strided and not x.is_meta

    return "out" in kwargs or not all(plain(x) for x in (*args, out) if isinstance(x, torch.Tensor))


def understand_call(name: str, args: Sequence[Any], kwargs: Mapping[str, Any], out: Any) -> Call | None:
    """The product that an operation computed; None where there is nothing to verify: no elements, integers, complex."""
    if name in ("mm", "bmm"):
        call = Call(name, args[0], args[1], out)
    else:
        beta, alpha = float(kwargs.get("beta", 1)), float(kwargs.get("alpha", 1))
        addend = args[0] if beta != 0 else None
        call = Call(name, args[1], args[2], out, alpha, beta, addend)
    if out.numel() == 0 or call.a.shape[-1] == 0:
        return None
    names = [str(x.dtype).removeprefix("torch.") for x in (call.a, call.b, call.c)]
    return call if all(n in _FLOATS for n in names) else None


class Weights:
    """What a pass over each unchanged weight gave, for as long as it does not change.

    Weights are parameters that the guard holds, so that the address of one cannot come to mean another. A change that
    PyTorch does not count shows as a suspicion, and is then looked at anew.
    """

    def __init__(self, parameters: Sequence[Any], uses: int = 16) -> None:
        self._by_address = {p.untyped_storage().data_ptr(): p for p in parameters if p.numel()}
        self._kept: dict[tuple[Any, ...], tuple[int, int, Right]] = {}
        self._uses = uses

    def find(self, b: Any) -> tuple[tuple[Any, ...] | None, Right | None]:
        """The key of a weight, None for anything else, and what is kept under it."""
        parameter = self._by_address.get(b.untyped_storage().data_ptr())
        if parameter is None:
            return None, None
        key = (b.data_ptr(), tuple(b.shape), tuple(b.stride()))
        found = self._kept.get(key)
        if found is None or found[0] != parameter._version or found[1] >= self._uses:
            return key, None
        self._kept[key] = (found[0], found[1] + 1, found[2])
        return key, found[2]

    def keep(self, key: tuple[Any, ...], b: Any, right: Right) -> None:
        parameter = self._by_address[b.untyped_storage().data_ptr()]
        self._kept[key] = (parameter._version, 1, right)

    def forget(self, key: tuple[Any, ...] | None) -> None:
        """Drop what is kept of a weight."""
        if key is not None:
            self._kept.pop(key, None)


def suspicious(call: Call, weights: Weights, vectors: int, seed: int, false_alarm: float) -> bool:
    """The screen: whether a row's residual passes its threshold. For the processor, where looking costs no waiting."""
    given = understand(call.a, call.b, call.c, alpha=call.alpha, beta=call.beta, addend=call.addend, precision="fp32")
    ops = adapter(given.c, given.arithmetic.check.name)
    key, right = weights.find(call.b)
    with np.errstate(all="ignore"):
        if right is None:
            right = prepare(ops, given.b, draw(given.dims[2], vectors, seed=seed))
            if key is not None:
                weights.keep(key, call.b, right)
        seen = screen(
            ops, given.a, right, given.c, given.arithmetic, given.alpha, given.addends, confidence=false_alarm
        )
        limit = deviation(false_alarm, float(np.prod(seen.residual.shape)))
        fine = (seen.residual * seen.residual <= limit**2 * seen.variance) & (seen.variance < float("inf"))
    loud = not bool(fine.all())
    if loud:
        weights.forget(key)
    return loud

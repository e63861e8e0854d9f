"""Functions of one element, and moves, in PyTorch."""

from __future__ import annotations

import math

from kernel_contracts.stacks.natives.torch._arrays import Tensor, wide


def gelu(x: Tensor) -> Tensor:
    from torch.nn import functional

    return functional.gelu(x)


def gelu_tanh(x: Tensor) -> Tensor:
    from torch.nn import functional

    return functional.gelu(x, approximate="tanh")


def gelu_stable(x: Tensor) -> Tensor:
    import torch

    v = wide(x)
    return (0.5 * v * torch.erfc(-v * math.sqrt(0.5))).to(x.dtype)


def silu(x: Tensor) -> Tensor:
    from torch.nn import functional

    return functional.silu(x)


def cast_chain(x: Tensor) -> Tensor:
    import torch

    return x.to(torch.bfloat16).to(torch.float32)


def fp8_scale(x: Tensor) -> Tensor:
    return 448 / x.abs().amax().float().clamp(min=1e-12)


def gather(table: Tensor, index: Tensor) -> Tensor:
    import torch

    return torch.index_select(table, 0, index)


def erf(x: Tensor) -> Tensor:
    import torch

    return torch.erf(x)


def sqrt(x: Tensor) -> Tensor:
    import torch

    return torch.sqrt(x)


def multiply_add(a: Tensor, b: Tensor, c: Tensor) -> Tensor:
    return a * b + c


def mul_chain(x: Tensor) -> Tensor:
    return x * 1000 * 0.75

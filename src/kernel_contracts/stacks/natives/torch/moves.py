"""Moves, conversions and scales, in PyTorch."""

from __future__ import annotations

from kernel_contracts.stacks.natives.torch._arrays import Tensor


def copy(x: Tensor) -> Tensor:
    import torch

    return x.clone(memory_format=torch.contiguous_format)


def transpose(x: Tensor) -> Tensor:
    return x.T.contiguous()


def pad(x: Tensor, *, before: int = 1, after: int = 2) -> Tensor:
    """fp8 through its bits: PyTorch pads no fp8."""
    import torch
    from torch.nn import functional

    if x.element_size() == 1:
        return functional.pad(x.view(torch.uint8), (before, after)).view(x.dtype)
    return functional.pad(x, (before, after))


def scale(x: Tensor, *, s: float = 0.5) -> Tensor:
    return x * s


def exp(x: Tensor) -> Tensor:
    import torch

    return torch.exp(x)


def cast_fp32(x: Tensor) -> Tensor:
    import torch

    return x.to(torch.float32)


def cast_fp16(x: Tensor) -> Tensor:
    import torch

    return x.to(torch.float16)


def cast_bf16(x: Tensor) -> Tensor:
    import torch

    return x.to(torch.bfloat16)


def cast_fp8_e4m3fn(x: Tensor) -> Tensor:
    import torch

    return x.to(torch.float8_e4m3fn)


def cast_fp8_e5m2(x: Tensor) -> Tensor:
    import torch

    return x.to(torch.float8_e5m2)


def cast_fp8_e4m3fn_nonsaturating(x: Tensor) -> Tensor:
    """The one conversion that PyTorch has."""
    import torch

    return x.to(torch.float8_e4m3fn)


def cast_int8(x: Tensor) -> Tensor:
    import torch

    return x.to(torch.int8)

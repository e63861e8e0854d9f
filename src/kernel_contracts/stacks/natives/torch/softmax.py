"""Softmax and its relatives, in PyTorch."""

from __future__ import annotations

from kernel_contracts.stacks.natives.torch._arrays import Tensor, wide


def softmax(x: Tensor) -> Tensor:
    from torch.nn import functional

    return functional.softmax(x, dim=-1)


def log_softmax(x: Tensor) -> Tensor:
    """Widened: on a processor the fp16 and bf16 kernels round the logarithm of the sum to the format of the input."""
    from torch.nn import functional

    return functional.log_softmax(wide(x), dim=-1).to(x.dtype)


def logsumexp(x: Tensor) -> Tensor:
    """Widened: the eager operation rounds every stage to the format of its input."""
    import torch

    return torch.logsumexp(wide(x), dim=-1).to(x.dtype)


def cross_entropy(x: Tensor, target: Tensor) -> Tensor:
    """Widened: the eager operation rounds the log-softmax before it takes the mean."""
    from torch.nn import functional

    return functional.cross_entropy(wide(x), target).to(x.dtype)


def attention(Q: Tensor, K: Tensor, V: Tensor, *, causal: bool = False) -> Tensor:
    from torch.nn import functional

    return functional.scaled_dot_product_attention(Q, K, V, is_causal=causal)


def flash_attention(Q: Tensor, K: Tensor, V: Tensor, *, causal: bool = False) -> Tensor:
    import torch

    return attention(Q.to(torch.bfloat16), K.to(torch.bfloat16), V.to(torch.bfloat16), causal=causal)

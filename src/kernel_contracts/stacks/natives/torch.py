"""The operations of the standard library as a user of PyTorch calls them.

Requirement: one call of PyTorch where it has the operation. Where eager PyTorch composes several that each round to
fp16 or bf16, the composition runs in float32 and rounds once, as a fused kernel does.
"""

from __future__ import annotations

import math
from typing import Any

Tensor = Any


def _wide(x: Tensor) -> Tensor:
    """The tensor in float32 at least."""
    import torch

    return x if x.dtype in (torch.float32, torch.float64) else x.float()


# ----------------------------------------------------------------------------------------------------------- products


def matmul(A: Tensor, B: Tensor) -> Tensor:
    import torch

    return torch.matmul(A, B)


def batched_matmul(A: Tensor, W: Tensor) -> Tensor:
    import torch

    return torch.bmm(A, W)


def linear(x: Tensor, w: Tensor, b: Tensor) -> Tensor:
    from torch.nn import functional

    return functional.linear(x, w, b)


def linear_gelu(x: Tensor, w: Tensor, b: Tensor) -> Tensor:
    from torch.nn import functional

    return functional.gelu(functional.linear(_wide(x), _wide(w), _wide(b))).to(x.dtype)


def conv2d(x: Tensor, w: Tensor, *, stride: int = 1, padding: int = 0) -> Tensor:
    from torch.nn import functional

    return functional.conv2d(x, w, stride=stride, padding=padding)


# ------------------------------------------------------------------------------------------- softmax and its relatives


def softmax(x: Tensor) -> Tensor:
    from torch.nn import functional

    return functional.softmax(x, dim=-1)


def log_softmax(x: Tensor) -> Tensor:
    """Widened: on a processor the fp16 and bf16 kernels round the logarithm of the sum to the format of the input."""
    from torch.nn import functional

    return functional.log_softmax(_wide(x), dim=-1).to(x.dtype)


def logsumexp(x: Tensor) -> Tensor:
    """Widened: the eager operation rounds every stage to the format of its input."""
    import torch

    return torch.logsumexp(_wide(x), dim=-1).to(x.dtype)


def cross_entropy(x: Tensor, target: Tensor) -> Tensor:
    """Widened: the eager operation rounds the log-softmax before it takes the mean."""
    from torch.nn import functional

    return functional.cross_entropy(_wide(x), target).to(x.dtype)


def attention(Q: Tensor, K: Tensor, V: Tensor, *, causal: bool = False) -> Tensor:
    from torch.nn import functional

    return functional.scaled_dot_product_attention(Q, K, V, is_causal=causal)


def flash_attention(Q: Tensor, K: Tensor, V: Tensor, *, causal: bool = False) -> Tensor:
    import torch

    return attention(Q.to(torch.bfloat16), K.to(torch.bfloat16), V.to(torch.bfloat16), causal=causal)


# -------------------------------------------------------------------------------------------------- sums and moments


def sum(x: Tensor) -> Tensor:
    import torch

    return torch.sum(x, dim=-1)


def mean(x: Tensor) -> Tensor:
    import torch

    return torch.mean(x, dim=-1)


def variance(x: Tensor) -> Tensor:
    import torch

    return torch.var(x, dim=-1, correction=0)


def norm(x: Tensor) -> Tensor:
    import torch

    return torch.linalg.vector_norm(x, dim=-1)


def cumsum(x: Tensor) -> Tensor:
    import torch

    return torch.cumsum(x, dim=-1)


def cdist(a: Tensor, b: Tensor) -> Tensor:
    """From differences: the default goes through a^2 - 2ab + b^2 for more than 25 points and cancels."""
    import torch

    return torch.cdist(a, b, compute_mode="donot_use_mm_for_euclid_dist")


def layernorm(x: Tensor, gamma: Tensor, beta: Tensor, *, eps: float = 1e-5) -> Tensor:
    from torch.nn import functional

    return functional.layer_norm(x, x.shape[-1:], gamma, beta, eps)


def rmsnorm(x: Tensor, weight: Tensor, *, eps: float = 1e-6) -> Tensor:
    from torch.nn import functional

    return functional.rms_norm(x, x.shape[-1:], weight, eps)


def rmsnorm_offset(x: Tensor, w: Tensor, *, eps: float = 1e-6) -> Tensor:
    from torch.nn import functional

    return functional.rms_norm(_wide(x), x.shape[-1:], 1 + _wide(w), eps).to(x.dtype)


def normalized_scale(x: Tensor, gamma: Tensor, *, eps: float = 1e-5) -> Tensor:
    from torch.nn import functional

    return (functional.layer_norm(_wide(x), x.shape[-1:], eps=eps) * _wide(gamma)).to(x.dtype)


# --------------------------------------------------------------------------------------------------- elementwise, moves


def gelu(x: Tensor) -> Tensor:
    from torch.nn import functional

    return functional.gelu(x)


def gelu_tanh(x: Tensor) -> Tensor:
    from torch.nn import functional

    return functional.gelu(x, approximate="tanh")


def gelu_stable(x: Tensor) -> Tensor:
    import torch

    v = _wide(x)
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


# ---------------------------------------------------------------------------------------- choices and plain arithmetic


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


def max_pool(x: Tensor, *, window: int = 2, stride: int = 2) -> Tensor:
    from torch.nn import functional

    return functional.max_pool1d(x[None], window, stride)[0]


# ----------------------------------------------------------------------------------------------------------- by index


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

    return torch.index_add(_wide(base), 0, index, _wide(updates)).to(base.dtype)

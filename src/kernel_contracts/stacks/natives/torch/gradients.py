"""Gradients by autograd, in PyTorch."""

from __future__ import annotations

from collections.abc import Callable

from kernel_contracts.stacks.natives.torch._arrays import Tensor, wide


def _gradients(function: Callable[..., Tensor], inputs: tuple[Tensor, ...], g: Tensor) -> tuple[Tensor, ...]:
    import torch

    leaves = tuple(t.detach().requires_grad_() for t in inputs)
    with torch.enable_grad():
        return tuple(torch.autograd.grad(function(*leaves), leaves, g))


def matmul_backward(A: Tensor, B: Tensor, G: Tensor) -> tuple[Tensor, ...]:
    import torch

    return _gradients(torch.matmul, (A, B), G)


def linear_backward(x: Tensor, w: Tensor, g: Tensor) -> tuple[Tensor, ...]:
    import torch
    from torch.nn import functional

    bias = torch.zeros(w.shape[0], dtype=w.dtype, device=w.device)
    return _gradients(functional.linear, (x, w, bias), g)


def softmax_backward(y: Tensor, g: Tensor) -> Tensor:
    import torch

    return torch._softmax_backward_data(g, y, -1, y.dtype)


def gelu_backward(x: Tensor, g: Tensor) -> Tensor:
    from torch.nn import functional

    return _gradients(functional.gelu, (x,), g)[0]


def layernorm_backward(x: Tensor, gamma: Tensor, g: Tensor, *, eps: float = 1e-5) -> tuple[Tensor, ...]:
    """Widened: on a processor the fp16 and bf16 kernels keep mean and spread of a row in the format of the input."""
    import torch
    from torch.nn import functional

    beta = torch.zeros_like(wide(gamma))
    made = _gradients(
        lambda a, b, c: functional.layer_norm(a, a.shape[-1:], b, c, eps), (wide(x), wide(gamma), beta), wide(g)
    )
    return tuple(t.to(x.dtype) for t in made)


def attention_backward(Q: Tensor, K: Tensor, V: Tensor, G: Tensor, *, causal: bool = False) -> tuple[Tensor, ...]:
    """Widened: on a processor the fp16 and bf16 kernels round more than the factors of their products."""
    from torch.nn import functional

    made = _gradients(
        lambda q, k, v: functional.scaled_dot_product_attention(q, k, v, is_causal=causal),
        (wide(Q), wide(K), wide(V)), wide(G),
    )  # fmt: skip
    return tuple(t.to(Q.dtype) for t in made)


def max_pool_backward(x: Tensor, g: Tensor, *, window: int = 2, stride: int = 2) -> Tensor:
    from torch.nn import functional

    return _gradients(lambda a: functional.max_pool1d(a[None], window, stride)[0], (x,), g)[0]

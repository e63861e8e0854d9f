"""Loss scales, quantization scales and the steps of an optimizer, in PyTorch."""

from __future__ import annotations

from kernel_contracts.stacks.natives.torch._arrays import Tensor, wide


def unscale(g: Tensor, *, scale: float = 1.0) -> tuple[Tensor, Tensor]:
    """What a gradient scaler calls on its gradients, in place on a copy."""
    import torch

    h, found = wide(g).clone(), torch.zeros(1)
    inverse = torch.tensor([1 / scale], dtype=torch.float64).float()
    torch._amp_foreach_non_finite_check_and_unscale_([h], found, inverse)
    return h, found.bool().reshape(())


def _parameter(value: Tensor, gradient: Tensor) -> Tensor:
    import torch

    p = torch.nn.Parameter(value.clone())
    p.grad = gradient.clone()
    return p


def clip_grad(g: Tensor, b: Tensor, *, scale: float = 1.0, max_norm: float = 1.0) -> tuple[Tensor, Tensor, Tensor]:
    import torch

    parameters = [_parameter(x, x / scale) for x in (g, b)]
    total = torch.nn.utils.clip_grad_norm_(parameters, max_norm)
    return parameters[0].grad, parameters[1].grad, total


def accumulate_grad(total: Tensor, g: Tensor, *, scale: float = 1.0) -> Tensor:
    """Each micro-batch added to what is there, as a backward pass does."""
    total = total.clone()
    for micro_batch in g:
        total.add_(micro_batch)
    return total / scale


def quantize_fp8(x: Tensor) -> tuple[Tensor, Tensor]:
    import torch

    scale = 448 / x.abs().amax().float().clamp(min=1e-12)
    return (wide(x) * scale).clamp(-448, 448).to(torch.float8_e4m3fn), scale


def dequantize_fp8(q: Tensor, scale: Tensor) -> Tensor:
    return q.float() / scale


def fp8_gradient(g: Tensor, *, s: float = 256.0, q: float = 0.03125) -> Tensor:
    import torch

    held = (wide(g) * s / q).clamp(-448, 448).to(torch.float8_e4m3fn)
    return held.float() * q / s


def adamw_step(
    w: Tensor, g: Tensor, m: Tensor, v: Tensor, found_inf: Tensor, *, scale: float = 1.0, step: int = 10,
    lr: float = 1e-3, beta1: float = 0.9, beta2: float = 0.999, eps: float = 1e-8, decay: float = 0.01,
) -> tuple[Tensor, Tensor, Tensor]:  # fmt: skip
    """torch.optim.AdamW, its state as it is before the step."""
    import torch

    p = _parameter(w, wide(g) / scale)
    optimizer = torch.optim.AdamW([p], lr=lr, betas=(beta1, beta2), eps=eps, weight_decay=decay)
    state = {"step": torch.tensor(float(step - 1)), "exp_avg": m.clone(), "exp_avg_sq": v.clone()}
    optimizer.state[p] = state
    if not bool(found_inf):
        optimizer.step()
    return p.detach(), state["exp_avg"], state["exp_avg_sq"]


def loss_scale_update(
    scale: Tensor, good_steps: Tensor, found_inf: Tensor, *, growth: float = 2.0, backoff: float = 0.5,
    interval: int = 1,
) -> tuple[Tensor, Tensor]:  # fmt: skip
    """What a gradient scaler's update calls."""
    import torch

    now, steps, found = scale.clone(), good_steps.clone(), found_inf.float()
    torch._amp_update_scale_(now, steps, found, growth, backoff, interval)
    return now, steps


def train_step(
    x: Tensor, t: Tensor, w: Tensor, *, scale: float = 1024.0, lr: float = 0.125, max_norm: float = 1.0,
    decay: float = 0.01,
) -> tuple[Tensor, Tensor]:  # fmt: skip
    """Autograd through a product in the format of the data; SGD with decay of the weights."""
    import torch

    p = torch.nn.Parameter(w.clone())
    loss = ((x @ p.to(x.dtype)).float() - t.float()).square().mean()
    (loss * scale).backward()
    gradient, found = unscale(p.grad, scale=scale)
    if not bool(found):
        p.grad = gradient
        torch.nn.utils.clip_grad_norm_([p], max_norm)
        with torch.no_grad():
            p.mul_(1 - lr * decay).sub_(p.grad, alpha=lr)
    return p.detach(), found

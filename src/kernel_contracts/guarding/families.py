"""Which operations of PyTorch are verified and by what, and which multiply matrices unverified."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from typing import Any

from kernel_contracts.guarding import attention, attention_backward, convolution, lookup, products, softmax
from kernel_contracts.guarding.kit import Call, Unseen

Understand = Callable[[str, Sequence[Any], Mapping[str, Any], Any], tuple[Call, ...] | Call | Unseen | None]

COVERED: dict[str, Understand] = {
    "mm": products.understand,
    "addmm": products.understand,
    "bmm": products.understand,
    "baddbmm": products.understand,
    "sum": products.summed,
    "_softmax": softmax.understand,
    "_safe_softmax": softmax.understand,
    "embedding": lookup.understand,
    "convolution": convolution.understand,
    "convolution_backward": convolution.understand_backward,
    "_scaled_dot_product_flash_attention_for_cpu": attention.understand,
    "_scaled_dot_product_flash_attention_for_cpu_backward": attention_backward.understand,
}
"""From the name of an operation to what makes a call of it; that gives None where there is nothing
to verify, and `UNSEEN` where it cannot be."""

UNCOVERED = (
    "_scaled_dot_product_flash_attention", "_scaled_dot_product_flash_attention_backward",
    "_scaled_dot_product_efficient_attention", "_scaled_dot_product_efficient_attention_backward",
    "_scaled_dot_product_cudnn_attention", "_scaled_dot_product_cudnn_attention_backward",
    "_scaled_dot_product_fused_attention_overrideable", "_scaled_mm", "_int_mm", "addmv", "mv", "dot", "vdot",
    "addbmm", "addr", "addmm_", "baddbmm_", "addbmm_", "addmv_", "_addmm_activation", "_grouped_mm",
    "_scaled_grouped_mm", "_weight_int8pack_mm", "_weight_int4pack_mm", "_cdist_forward", "_euclidean_dist",
    "_trilinear", "mkldnn_rnn_layer", "mkldnn_rnn_layer_backward", "_cudnn_rnn", "_cudnn_rnn_backward",
    "miopen_rnn", "miopen_rnn_backward", "_transformer_encoder_layer_fwd", "_native_multi_head_attention",
)  # fmt: skip
"""Operations that multiply matrices, or hide it, and are not verified: they are counted, so that nobody is misled."""
_OTHERS = (("mkldnn", ("_linear_pointwise", "_convolution_pointwise")), ("mkl", ("_mkl_linear",)))
"""What compiled programs may call instead, by namespace."""


@lru_cache(maxsize=1)
def watched() -> dict[Any, tuple[str, Understand | None]]:
    """Every overload that the guard looks at, to its name and what understands it."""
    import torch

    found: dict[Any, tuple[str, Understand | None]] = {}
    for space, names in (("aten", (*COVERED, *UNCOVERED)), *_OTHERS):
        for name in names:
            packet = getattr(getattr(torch.ops, space), name, None)
            for overload in packet.overloads() if packet is not None else ():
                known = COVERED.get(name) if space == "aten" else None
                if name != "sum" or overload == "dim_IntList":
                    found[getattr(packet, overload)] = (name, known)
    return found


@lru_cache(maxsize=8192)
def composed(func: Any) -> bool:
    """Whether an operation is no more than calls of others: in inference mode PyTorch shows it whole."""
    import torch

    name = func.name()
    has = torch._C._dispatch_has_kernel_for_dispatch_key
    return bool(
        has(name, "CompositeImplicitAutograd") and not any(has(name, key) for key in ("CPU", "CUDA", "XPU", "MPS"))
    )


def hidden(args: Sequence[Any], kwargs: Mapping[str, Any], out: Any) -> bool:
    """Whether operands are out of sight: tensors without plain memory, or that the result was written over."""
    import torch

    outs = [x for x in (out if isinstance(out, tuple | list) else (out,)) if isinstance(x, torch.Tensor)]
    tensors = [x for x in args if isinstance(x, torch.Tensor)]
    if not all(_plain(x) for x in (*tensors, *outs)):
        return True
    if outs and outs[0].is_cuda and torch.cuda.is_current_stream_capturing():
        return True  # secrets cannot be drawn while a graph is captured
    if "out" not in kwargs:
        return False
    written = {x.untyped_storage().data_ptr() for x in outs}
    return any(x.untyped_storage().data_ptr() in written for x in tensors)


def _plain(x: Any) -> bool:
    import torch

    return type(x) in (torch.Tensor, torch.nn.Parameter) and x.layout == torch.strided and not x.is_meta

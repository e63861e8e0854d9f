"""What PyTorch lets a product do, by its own settings: narrower operands, narrower partial sums."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Any

_COERCED = {"highest": "", "high": "tf32", "medium": "bf16"}


@dataclass(frozen=True, slots=True)
class Declared:
    """Names of formats; empty for the default."""

    accumulator: str = ""
    operands: str = ""


PLAIN = Declared()


def declared(x: Any) -> Declared:
    """For a product of tensors like x.

    fp32 operands may be cut as `torch.set_float32_matmul_precision` says. On an accelerator fp16 and bf16 products may
    round partial sums to the format of the output unless that is switched off; nothing sharper can then be asked.
    """
    import torch

    if x.dtype == torch.float32:
        try:
            precision = torch.get_float32_matmul_precision()
        except RuntimeError:  # settings of the old and the new interface disagree: assume the loosest
            precision = "medium"
        coerced = _COERCED[precision]
        if not coerced and x.is_cuda and torch.backends.cuda.matmul.allow_tf32:
            coerced = "tf32"
        return Declared("", coerced) if coerced else PLAIN
    if x.is_cuda and x.dtype in (torch.float16, torch.bfloat16):
        narrow = "fp16" if x.dtype == torch.float16 else "bf16"
        setting = f"allow_{narrow}_reduced_precision_reduction"
        if getattr(torch.backends.cuda.matmul, setting, True) is not False:
            return Declared(narrow, "")
    return PLAIN


@lru_cache(maxsize=1)
def formats() -> dict[Any, str]:
    """Number types of PyTorch whose products are verified, and the names of their formats."""
    import torch

    return {torch.float32: "fp32", torch.float64: "fp64", torch.float16: "fp16", torch.bfloat16: "bf16"}

"""Triton: kernels compiled for a graphics processor, or run by its interpreter on this one; arrays are PyTorch's.

A target is a Python function of tensors that launches a `@triton.jit` kernel. The variant `interpreter` runs such
kernels without a graphics processor, one program after another: it hides races, and it computes bf16 and fp8 in other
ways than hardware, so it is evidence about what a kernel means, not about what it does there.
"""

from __future__ import annotations

import os
from typing import Any

from kernel_contracts.stacks.base import installed
from kernel_contracts.stacks.torch import TorchStack

SWITCH = "TRITON_INTERPRET"


class TritonStack(TorchStack):
    """Triton, from Python functions of PyTorch's tensors."""

    name = "triton"
    native_dtypes = frozenset({"fp32", "fp16", "bf16", "int8", "int16", "int32", "int64", "uint8", "bool"})
    requires = ("triton", "triton")
    compiling = 60.0
    natives = ""
    variants = {"interpreter": {SWITCH: "1"}}  # noqa: RUF012

    def available(self) -> bool:
        return super().available() and installed("torch")

    def version(self) -> str:
        import triton

        return str(triton.__version__)

    def devices(self) -> tuple[str, ...]:
        """The graphics processors; where there is none, the processor for the interpreter only."""
        found = super().devices()
        if _interpreted():
            return found
        return tuple(d for d in found if d.partition(":")[0] in ("cuda", "xpu"))

    def fingerprint(self) -> dict[str, Any]:
        return {**super().fingerprint(), "torch": super().version(), "interpreter": _interpreted()}


def _interpreted() -> bool:
    return os.environ.get(SWITCH, "0").lower() in ("1", "true", "yes", "on")


STACK = TritonStack()

"""PyTorch in eager mode, on the processor and on any device it drives.

Requirement: changes no switch of PyTorch (grad mode, determinism, flushing, threads): those are under test. Formats
that NumPy lacks cross as integers of the same width, so no bit is converted.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from kernel_contracts.measurement.exchange import DTYPES, kind_of
from kernel_contracts.stacks.base import Plain

_BY_BITS: dict[str, np.dtype[Any]] = {
    "bfloat16": np.dtype(np.int16),
    "float8_e4m3fn": np.dtype(np.uint8),
    "float8_e5m2": np.dtype(np.uint8),
    "float8_e4m3fnuz": np.dtype(np.uint8),
    "float8_e5m2fnuz": np.dtype(np.uint8),
}
"""Formats that cross as integers; PyTorch and ml_dtypes name them alike."""

_VARIANTS = {
    "one-thread": {"OMP_NUM_THREADS": "1"},
    "two-threads": {"OMP_NUM_THREADS": "2"},
    "default-isa": {"ATEN_CPU_CAPABILITY": "default"},
    "avx2": {"ATEN_CPU_CAPABILITY": "avx2"},
    "mkl-compatible": {"MKL_CBWR": "COMPATIBLE"},
    "onednn-sse41": {"ONEDNN_MAX_CPU_ISA": "SSE41"},
}


class TorchStack(Plain):
    """Eager PyTorch."""

    name = "torch"
    native_dtypes = frozenset({"fp64", "fp32", "fp16", "bf16", "int8", "int16", "int32", "int64", "uint8", "bool"})
    requires = ("torch", "torch")
    natives = "torch"
    variants = _VARIANTS

    def version(self) -> str:
        import torch

        return str(torch.__version__)

    def devices(self) -> tuple[str, ...]:
        import torch

        found = ["cpu"]
        if torch.cuda.is_available():
            found += ["cuda", *(f"cuda:{n}" for n in range(torch.cuda.device_count()))]
        if torch.backends.mps.is_available():
            found.append("mps")
        if hasattr(torch, "xpu") and torch.xpu.is_available():
            found += ["xpu", *(f"xpu:{n}" for n in range(torch.xpu.device_count()))]
        return tuple(found)

    def to_native(self, array: NDArray[Any], device: str) -> Any:
        import torch

        name = array.dtype.name
        try:
            if name in _BY_BITS:
                tensor = torch.from_numpy(array.view(_BY_BITS[name])).view(getattr(torch, name))
            else:
                tensor = torch.from_numpy(array)
        except (TypeError, AttributeError):
            raise TypeError(f"PyTorch {torch.__version__} has no dtype {name}") from None
        return tensor if device in ("", "cpu") else _on_device(tensor, device)

    def from_native(self, value: Any) -> NDArray[Any]:
        import torch

        if type(value) not in (torch.Tensor, torch.nn.Parameter):
            raise TypeError(f"it is a {kind_of(value)}; return a torch.Tensor")
        if value.layout != torch.strided or value.is_quantized or value.is_meta or value.is_nested:
            raise TypeError(f"it is a tensor without plain memory (layout {value.layout}, device {value.device})")
        tensor = value.detach().cpu().resolve_conj().resolve_neg()
        name = str(tensor.dtype).removeprefix("torch.")
        if name in _BY_BITS:
            bits = getattr(torch, _BY_BITS[name].name)
            plain: NDArray[Any] = tensor.view(bits).numpy().view(DTYPES[name])
            return plain
        out: NDArray[Any] = tensor.numpy()
        return out

    def synchronize(self, device: str) -> None:
        import torch

        kind = device.partition(":")[0]
        if kind in ("cuda", "xpu"):
            getattr(torch, kind).synchronize(device)
        elif kind == "mps":
            torch.mps.synchronize()

    def fingerprint(self) -> dict[str, Any]:
        import torch

        facts: dict[str, Any] = {
            "name": self.name,
            "version": self.version(),
            "git": str(torch.version.git_version),
            "capability": str(torch.backends.cpu.get_cpu_capability()),
            "mkl": bool(torch.backends.mkl.is_available()),
            "onednn": bool(torch.backends.mkldnn.is_available()),
            "threads": int(torch.get_num_threads()),
            "interop_threads": int(torch.get_num_interop_threads()),
            "deterministic": bool(torch.are_deterministic_algorithms_enabled()),
            "matmul_precision": str(torch.get_float32_matmul_precision()),
            "default_dtype": str(torch.get_default_dtype()).removeprefix("torch."),
            "build": str(torch.__config__.show()),
        }
        if torch.cuda.is_available():
            facts["cuda"] = _cuda_facts()
        return facts


def _on_device(tensor: Any, device: str) -> Any:
    """A copy on the device with the same strides; gaps between elements are poisoned there as well."""
    import torch

    if tensor.is_contiguous() or not tensor.numel():
        return tensor.to(device)
    last = sum((n - 1) * step for n, step in zip(tensor.shape, tensor.stride(), strict=True))
    base = torch.zeros(last + 1, dtype=tensor.dtype, device=device)
    base.view(torch.uint8).fill_(0xFF)  # a NaN in every floating-point format that has more than one
    strided = base.as_strided(tensor.shape, tensor.stride())
    strided.copy_(tensor)
    return strided


def _cuda_facts() -> dict[str, Any]:
    import torch

    return {
        "runtime": str(torch.version.cuda or torch.version.hip),
        "cudnn": str(torch.backends.cudnn.version()) if torch.backends.cudnn.is_available() else "",
        "tf32_matmul": bool(torch.backends.cuda.matmul.allow_tf32),
        "tf32_cudnn": bool(torch.backends.cudnn.allow_tf32),
        "reduced_fp16": bool(torch.backends.cuda.matmul.allow_fp16_reduced_precision_reduction),
        "reduced_bf16": bool(torch.backends.cuda.matmul.allow_bf16_reduced_precision_reduction),
        "devices": [
            f"{torch.cuda.get_device_name(n)} {torch.cuda.get_device_capability(n)}"
            for n in range(torch.cuda.device_count())
        ],
    }


STACK = TorchStack()

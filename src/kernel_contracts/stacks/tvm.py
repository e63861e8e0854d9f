"""TVM on the processor: kernels as tensor expressions, compiled by LLVM.

A target is a Python function of `tvm.runtime.Tensor`s; it compiles for itself, once for what it has not seen yet.

Requirement: TVM rounds where a kernel says so. The operations of `natives/tvm` name the format of their accumulator:
float32 at least, unless the variant names another.
"""

from __future__ import annotations

import os
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kernel_contracts.measurement.exchange import kind_of
from kernel_contracts.stacks.base import Plain

ACCUMULATOR, TARGET = "KC_TVM_ACCUMULATOR", "KC_TVM_TARGET"
"""The variables with the dtype that operations of TVM's own accumulate in, and with the processor they are made for."""

_HELD = (
    {"bool", "float64", "float32", "float16", "bfloat16"}
    | {f"{u}int{n}" for u in ("", "u") for n in (8, 16, 32, 64)}
    | {f"float8_{kind}" for kind in ("e4m3fn", "e5m2", "e4m3fnuz", "e5m2fnuz")}
)
_VARIANTS = {
    "fp16-accumulator": {ACCUMULATOR: "float16"},
    "native-cpu": {TARGET: "native"},
    "one-thread": {"TVM_NUM_THREADS": "1"},
}


class TvmStack(Plain):
    """TVM."""

    name = "tvm"
    native_dtypes = frozenset(
        {
            "fp64", "fp32", "fp16", "bf16", "fp8_e4m3fn", "fp8_e5m2", "int8", "int16", "int32", "int64", "uint8",
            "bool",
        }
    )  # fmt: skip
    requires = ("tvm", "tvm")
    natives = "tvm"
    compiling = 60.0
    variants = _VARIANTS

    def version(self) -> str:
        import tvm

        return str(tvm.__version__)

    def devices(self) -> tuple[str, ...]:
        return ("cpu",)

    def to_native(self, array: NDArray[Any], device: str) -> Any:
        import tvm

        if array.dtype.name not in _HELD:
            raise TypeError(f"TVM {tvm.__version__} has no dtype {array.dtype.name}")
        return tvm.runtime.tensor(np.array(array, order="C"))

    def from_native(self, value: Any) -> NDArray[Any]:
        import tvm

        if not isinstance(value, tvm.runtime.Tensor):
            raise TypeError(f"it is a {kind_of(value)}; return a tvm.runtime.Tensor")
        if str(value.dtype) not in _HELD:
            raise TypeError(f"it is a tvm.runtime.Tensor of {value.dtype}, which is no number format")
        out: NDArray[Any] = value.numpy()
        return out

    def synchronize(self, device: str) -> None:
        import tvm

        tvm.cpu().sync()

    def fingerprint(self) -> dict[str, Any]:
        import tvm

        return {
            "name": self.name,
            "version": self.version(),
            "ffi": str(tvm.ffi.__version__) if hasattr(tvm, "ffi") else "",
            "llvm": int(tvm.target.codegen.llvm_version_major()),
            "target": str(target()),
            "accumulator": accumulator("float32") if os.environ.get(ACCUMULATOR) else "",
            "threads": os.environ.get("TVM_NUM_THREADS", ""),
        }


def target() -> Any:
    """What operations of TVM's own are compiled for: LLVM's plain processor of this kind, or the one there is."""
    import tvm

    if os.environ.get(TARGET, "") != "native":
        return tvm.target.Target("llvm")
    codegen = tvm.target.codegen
    return tvm.target.Target({"kind": "llvm", "mcpu": codegen.llvm_get_system_cpu()})


def accumulator(dtype: str) -> str:
    """The dtype that sums of `dtype` are kept in."""
    return os.environ.get(ACCUMULATOR, "") or ("float64" if dtype == "float64" else "float32")


STACK = TvmStack()

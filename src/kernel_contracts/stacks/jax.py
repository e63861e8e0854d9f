"""JAX, operation by operation, on any device that it drives.

Requirement: changes no switch of JAX or XLA. JAX holds 64-bit numbers only where it was started with
`JAX_ENABLE_X64`, which the variant `x64` does; elsewhere they are refused, since JAX would cut them to 32 bits.
"""

from __future__ import annotations

import contextlib
import ctypes
import gc
import os
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kernel_contracts.measurement.exchange import kind_of
from kernel_contracts.measurement.family import resident
from kernel_contracts.stacks.base import Plain

_NARROW = {"fp32", "fp16", "bf16", "fp8_e4m3fn", "fp8_e5m2", "int8", "int16", "int32", "uint8", "bool"}

_COMPILED = 1 << 30
"""Bytes that a process may grow before the code that it compiled is dropped."""

VARIANTS = {
    "x64": {"JAX_ENABLE_X64": "1"},
    "xla-avx": {"XLA_FLAGS": "--xla_cpu_max_isa=AVX"},
    "xla-sse4_2": {"XLA_FLAGS": "--xla_cpu_max_isa=SSE4_2"},
    "one-thread": {"XLA_FLAGS": "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1"},
}


class JaxStack(Plain):
    """Eager JAX."""

    name = "jax"
    requires = ("jax", "jax")
    natives = "jax"
    compiling = 60.0
    variants = VARIANTS
    _least = 0

    @property
    def native_dtypes(self) -> frozenset[str]:
        wide = {"fp64", "int64"} if self._x64() else set()
        return frozenset(_NARROW | wide)

    def _x64(self) -> bool:
        """Whether 64-bit numbers are on in the worker's process; asked in the session too, where JAX is not loaded."""
        return {**os.environ, **self.environment}.get("JAX_ENABLE_X64", "").lower() in ("1", "true", "yes", "on")

    def version(self) -> str:
        import jax

        return str(jax.__version__)

    def devices(self) -> tuple[str, ...]:
        import jax

        found = [f"{d.platform}:{d.id}" for d in jax.devices()]
        first = found[0].partition(":")[0]
        return (first, *found[1:]) if first == "cpu" else (first, *found, "cpu")

    def to_native(self, array: NDArray[Any], device: str) -> Any:
        import jax

        held = jax.dtypes.canonicalize_dtype(array.dtype) if array.dtype.kind in "biufcV" else None
        if held != array.dtype:
            wide = array.dtype.itemsize == 8 and array.dtype.kind in "fiu"
            hint = "; stack jax@x64 holds it" if wide else ""
            raise TypeError(f"JAX {jax.__version__} has no dtype {array.dtype.name} here{hint}")
        try:
            # A copy: JAX takes arrays for immutable and may keep the memory that it is given.
            return jax.device_put(np.array(array, order="C"), _device(device))
        except TypeError:
            raise TypeError(f"JAX {jax.__version__} has no dtype {array.dtype.name}") from None

    def from_native(self, value: Any) -> NDArray[Any]:
        import jax

        if not isinstance(value, jax.Array) or isinstance(value, jax.core.Tracer):
            raise TypeError(f"it is a {kind_of(value)}; return a jax.Array")
        if value.is_deleted() or jax.dtypes.issubdtype(value.dtype, jax.dtypes.extended):
            raise TypeError(f"it is a jax.Array without plain memory (dtype {value.dtype})")
        out: NDArray[Any] = np.asarray(value)
        return out

    def synchronize(self, device: str) -> None:
        import jax

        for array in jax.live_arrays():
            array.block_until_ready()

    def tidy(self) -> bool:
        """Every shape leaves megabytes of machine code behind, for ever: fifty of them are no fault of a kernel."""
        import jax

        held = resident(os.getpid())
        self._least = min(held, self._least) if self._least else held
        if held - self._least < _COMPILED:
            return False
        jax.clear_caches()
        gc.collect()
        with contextlib.suppress(OSError, AttributeError):  # what is free goes back to the system
            ctypes.CDLL(None).malloc_trim(0)
        self._least = resident(os.getpid())
        return True

    def fingerprint(self) -> dict[str, Any]:
        import jax
        import jaxlib

        first = jax.devices()[0]
        return {
            "name": self.name,
            "version": self.version(),
            "jaxlib": str(jaxlib.__version__),
            "platform": str(first.client.platform_version),
            "device_kind": str(first.device_kind),
            "x64": bool(jax.config.jax_enable_x64),
            "matmul_precision": str(jax.config.jax_default_matmul_precision),
            "flags": os.environ.get("XLA_FLAGS", ""),
            "jit": not bool(jax.config.jax_disable_jit),
        }


def _device(name: str) -> Any:
    import jax

    platform, _, number = name.partition(":")
    return jax.devices(platform or None)[int(number or 0)]


STACK = JaxStack()

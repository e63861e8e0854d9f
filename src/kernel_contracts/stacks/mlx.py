"""MLX, on the processor and on the devices it drives.

Requirement: arrays cross as unsigned integers of the same width and are viewed as what they are, since MLX converts
the numbers it is given. MLX computes late: a kernel's answer is evaluated before the call counts as done.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any

import ml_dtypes
import numpy as np
from numpy.typing import NDArray

from kernel_contracts.measurement.exchange import kind_of
from kernel_contracts.stacks.base import Plain

_HELD = {"float64", "float32", "float16", "bfloat16"} | {f"{u}int{n}" for u in ("", "u") for n in (8, 16, 32, 64)}


class MlxStack(Plain):
    """MLX."""

    name = "mlx"
    native_dtypes = frozenset({"fp32", "fp16", "bf16", "int8", "int16", "int32", "int64", "uint8", "bool"})
    requires = ("mlx", "mlx")
    natives = "mlx"
    compiling = 60.0

    def version(self) -> str:
        import mlx.core as mx

        return str(mx.__version__)

    def devices(self) -> tuple[str, ...]:
        import mlx.core as mx

        default = str(mx.default_device().type).rpartition(".")[2]
        return (default,) if default == "cpu" else (default, "cpu")

    def compiles_apart(self, device: str) -> bool:
        """On a processor it writes C++ and runs the compiler of the system."""
        return device == "cpu"

    def to_native(self, array: NDArray[Any], device: str) -> Any:
        import mlx.core as mx

        name = array.dtype.name
        if name == "bool":
            return mx.array(np.ascontiguousarray(array).reshape(array.shape))
        if name not in _HELD:
            raise TypeError(f"MLX {mx.__version__} has no dtype {name}")
        bits = np.array(array, order="C").view(f"u{array.itemsize}")
        with mx.stream(_device(device)):
            made = mx.array(bits).view(getattr(mx, name))
            mx.eval(made)
        return made

    def from_native(self, value: Any) -> NDArray[Any]:
        import mlx.core as mx

        if not isinstance(value, mx.array):
            raise TypeError(f"it is a {kind_of(value)}; return an mlx.core.array")
        name = str(value.dtype).rpartition(".")[2]
        if name == "bool":
            return np.array(value)
        if name not in _HELD:
            raise TypeError(f"it is an array of {name}, which is no number format")
        dtype = np.dtype(ml_dtypes.bfloat16) if name == "bfloat16" else np.dtype(name)
        out: NDArray[Any] = np.array(value.view(getattr(mx, f"uint{8 * dtype.itemsize}"))).view(dtype)
        return out

    def synchronize(self, device: str) -> None:
        import mlx.core as mx

        mx.synchronize()

    def fingerprint(self) -> dict[str, Any]:
        import mlx.core as mx

        device = mx.default_device()
        facts = {str(k): str(v) for k, v in mx.device_info(device).items()}
        return {"name": self.name, "version": self.version(), "device": str(device), "device_info": facts}

    def compiled(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """The function with its answer evaluated, so that what takes long or fails does so inside the call."""
        import mlx.core as mx

        @wraps(function)
        def evaluated(*arrays: Any, **scalars: Any) -> Any:
            value = function(*arrays, **scalars)
            items = value if isinstance(value, tuple) else (value,)
            mx.eval(*(item for item in items if isinstance(item, mx.array)))
            return value

        return evaluated


def _device(name: str) -> Any:
    import mlx.core as mx

    return mx.Device(mx.gpu) if name == "gpu" else mx.Device(mx.cpu) if name == "cpu" else mx.default_device()


STACK = MlxStack()

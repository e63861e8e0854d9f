"""The array operations of the screen for arrays of JAX on a device. JAX is imported where an array of it is used.

Arrays on the processor are read by NumPy in place; so is what is small, or wants fp64, which a device may not have.
"""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module
from typing import Any

import numpy as np

from kernel_contracts.numerics.freivalds.arrays import DEVICE_BYTES, dtype_name, is_jax

LARGE = 1 << 20
"""Elements of all operands from which on copying them to the processor costs more than starting kernels."""


def stays(operands: Sequence[Any], precision: str) -> bool:
    """Whether operands are checked on the device that they are on."""
    if precision == "fp64" or sum(x.size for x in operands) <= LARGE:
        return False
    if any(dtype_name(x) == "float64" or "int" in dtype_name(x) for x in operands):
        return False
    return all(is_jax(x) for x in operands) and on_device(operands)


def on_device(operands: Sequence[Any]) -> bool:
    """Whether all are on one and the same device, and that is not the processor."""
    places = [device for x in operands for device in x.devices()]
    return len(set(places)) == 1 and places[0].platform != "cpu"


def like(value: Any, x: Any) -> Any:
    """A NumPy array as one of JAX, where x is."""
    (device,) = x.devices()
    return import_module("jax").device_put(value, device)


class JaxArrays:
    """JAX, in fp32, on the device of an operand."""

    precision = "fp32"
    panel = DEVICE_BYTES

    def __init__(self, x: Any) -> None:
        self._jax, self._np = import_module("jax"), import_module("jax.numpy")
        (self._device,) = x.devices()

    def wide(self, x: Any) -> Any:
        return x.astype(np.float32)

    def fits(self, x: Any) -> bool:
        return bool(x.dtype == np.float32)

    def vector(self, x: Any) -> Any:
        return self._jax.device_put(np.ascontiguousarray(x, dtype=np.float32), self._device)

    def join_rows(self, parts: list[Any]) -> Any:
        return parts[0] if len(parts) == 1 else self._np.concatenate(parts, axis=-1)

    def broadcast(self, x: Any, shape: tuple[int, ...]) -> Any:
        return self._np.broadcast_to(x, shape)

    def matvec(self, a: Any, y: Any) -> Any:
        # The default precision of a device may cut operands to bf16 or tf32.
        return self._np.matmul(a, y[..., None], precision="highest")[..., 0]

    def square_matvec(self, a: Any, y: Any) -> Any:
        return self.matvec(a * a, y)

    def row_squares(self, a: Any) -> Any:
        return (a * a).sum(-1)

    def column_sums(self, a: Any) -> Any:
        return a.sum(-2)

    def flat(self, x: Any) -> float | None:
        return None  # to know would be to wait for the device

    def moments(self, x: Any) -> tuple[float, float, float] | None:
        return None

    def pick(self, weights: Any, at: Any) -> tuple[Any, Any]:
        running = self._np.cumsum(weights)
        index = self._np.searchsorted(running, self.vector(at) * running[-1])
        return self._np.minimum(index, weights.shape[0] - 1), running[-1]

    def take(self, x: Any, index: Any) -> Any:
        return self._np.take(x, index, axis=-1)

    def transpose(self, a: Any) -> Any:
        return a.swapaxes(-1, -2)

    def maximum(self, x: Any, y: Any) -> Any:
        return self._np.maximum(x, y)

    def sqrt(self, x: Any) -> Any:
        return self._np.sqrt(x)

    def join(self, parts: list[Any]) -> Any:
        return self._np.stack(parts, axis=-1)

    def to_numpy(self, x: Any) -> Any:
        return np.asarray(x).astype(np.float64)

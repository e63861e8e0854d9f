"""The few array operations of the screen, for NumPy; which adapter an operand needs (`torch_arrays`, `jax_arrays`).

Each adapter computes in one working precision, `fp32` or `fp64`, and reads an operand in panels of rows that stay in
the cache: every statistic of a panel is taken while it is there, so memory is read once. Nothing here synchronizes a
device.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from typing import Any, Protocol

import numpy as np

from kernel_contracts.errors import UsageError

PANEL_BYTES = 1 << 21
"""Size of a panel that is widened first: it stays in the last-level cache of a current core, and calls stay few."""
READ_BYTES = 1 << 23
"""Size of a panel that is read as it is."""
DEVICE_BYTES = 1 << 28
"""Size of a panel on a device, where memory is large and starting a kernel costs more than reading a few MiB."""

FLAT = 2.0
"""Ratio of largest to mean up to which the mean stands for all."""


class Arrays(Protocol):
    """What the screen needs of an array library."""

    precision: str
    panel: int
    """Bytes of a panel that is widened first."""

    def wide(self, x: Any) -> Any:
        """x in the working precision; x itself where it is already."""

    def fits(self, x: Any) -> bool:
        """Whether x is in the working precision already."""

    def vector(self, x: Any) -> Any:
        """A NumPy vector as an array of the library, in the working precision."""

    def join_rows(self, parts: list[Any]) -> Any:
        """Pieces of rows one after the other, along the last axis; the piece itself where there is one."""

    def broadcast(self, x: Any, shape: tuple[int, ...]) -> Any:
        """x in a larger shape, without a copy."""

    def matvec(self, a: Any, y: Any) -> Any:
        """(..., m, k) times (..., k)."""

    def square_matvec(self, a: Any, y: Any) -> Any:
        """The same for the squares of a."""

    def row_squares(self, a: Any) -> Any:
        """Sums of squares along the last axis."""

    def column_sums(self, a: Any) -> Any:
        """Sums along the axis before the last."""

    def flat(self, x: Any) -> float | None:
        """The mean of a vector where no entry is above `FLAT` times it, and that is known without waiting."""

    def moments(self, x: Any) -> tuple[float, float, float] | None:
        """Means of a vector, of its squares and of its fourth powers, where they are known without waiting."""

    def pick(self, weights: Any, at: Any) -> tuple[Any, Any]:
        """Where the running sum of a vector of weights passes the shares `at` of its total; and that total."""

    def take(self, x: Any, index: Any) -> Any:
        """Some columns."""

    def transpose(self, a: Any) -> Any:
        """The last two axes exchanged, without a copy."""

    def maximum(self, x: Any, y: Any) -> Any: ...

    def sqrt(self, x: Any) -> Any: ...

    def join(self, parts: list[Any]) -> Any:
        """Columns side by side, as a new last axis."""

    def to_numpy(self, x: Any) -> Any:
        """Values as a float64 array; waits for a device."""


def panels(rows: int, columns: int, batched: bool, size: int, most: int = 1 << 62) -> Iterator[slice]:
    """Ranges of at most `most` rows whose panel fits the cache. A batch is taken whole: its matrices are small."""
    if batched or rows == 0:
        yield slice(0, rows)
        return
    height = min(most, max(16, size // max(1, 4 * columns)))
    for start in range(0, rows, height):
        yield slice(start, min(start + height, rows))


class NumPyArrays:
    """NumPy, on the processor."""

    panel = PANEL_BYTES

    def __init__(self, precision: str) -> None:
        self.precision = precision
        self._dtype = np.float32 if precision == "fp32" else np.float64

    def wide(self, x: Any) -> Any:
        return x if x.dtype == self._dtype else x.astype(self._dtype)

    def fits(self, x: Any) -> bool:
        return bool(x.dtype == self._dtype)

    def vector(self, x: Any) -> Any:
        return np.ascontiguousarray(x, dtype=self._dtype)

    def join_rows(self, parts: list[Any]) -> Any:
        return parts[0] if len(parts) == 1 else np.concatenate(parts, axis=-1)

    def broadcast(self, x: Any, shape: tuple[int, ...]) -> Any:
        return np.broadcast_to(x, shape)

    def matvec(self, a: Any, y: Any) -> Any:
        return a @ y if a.ndim == 2 else np.matmul(a, y[..., None])[..., 0]

    def square_matvec(self, a: Any, y: Any) -> Any:
        return self.matvec(a * a, y)

    def row_squares(self, a: Any) -> Any:
        if a.strides[-1] == a.itemsize:
            return np.vecdot(a, a)
        # Neighbours in a row are not neighbours in memory: the squares keep that layout, and BLAS reads it in order.
        return self.matvec(a * a, np.ones((*a.shape[:-2], a.shape[-1]), self._dtype))

    def column_sums(self, a: Any) -> Any:
        return np.ones(a.shape[-2], self._dtype) @ a

    def flat(self, x: Any) -> float | None:
        if x.ndim > 1 or not x.size:
            return None
        mean = float(x.mean())
        return mean if float(x.max()) <= FLAT * mean else None

    def moments(self, x: Any) -> tuple[float, float, float] | None:
        squares = x * x
        return float(x.sum()) / x.size, float(squares.sum()) / x.size, float(squares @ squares) / x.size

    def pick(self, weights: Any, at: Any) -> tuple[Any, Any]:
        running = np.cumsum(weights, dtype=np.float64)
        index = np.searchsorted(running, at * running[-1])
        return np.minimum(index, weights.size - 1), self._dtype(running[-1])

    def take(self, x: Any, index: Any) -> Any:
        return x[..., index]

    def transpose(self, a: Any) -> Any:
        return np.swapaxes(a, -1, -2)

    def maximum(self, x: Any, y: Any) -> Any:
        return np.maximum(x, y)

    def sqrt(self, x: Any) -> Any:
        return np.sqrt(x)

    def join(self, parts: list[Any]) -> Any:
        return parts[0][..., None] if len(parts) == 1 else np.stack(parts, axis=-1)

    def to_numpy(self, x: Any) -> Any:
        return np.asarray(x, dtype=np.float64)


def is_torch(x: Any) -> bool:
    """Whether x is a tensor of PyTorch, found out without importing it."""
    return _library(x) == "torch"


def is_jax(x: Any) -> bool:
    """Whether x is an array of JAX, or stands for one under a transformation; found out without importing it."""
    return _library(x) in ("jax", "tracer")


def is_traced(x: Any) -> bool:
    """Whether x has no values yet: it stands for an array of JAX under jit or grad."""
    return _library(x) == "tracer"


_KINDS = {
    ("torch", "Tensor"): "torch",
    ("jax", "Tracer"): "tracer",
    ("jax", "Array"): "jax",
    ("jaxlib", "ArrayImpl"): "jax",
}
_LIBRARIES: dict[type, str] = {}
"""The library of a type, once seen."""


def _library(x: Any) -> str:
    kind = type(x)
    if kind not in _LIBRARIES:
        known = ((t.__module__.partition(".")[0], t.__name__) for t in kind.__mro__)
        _LIBRARIES[kind] = next((_KINDS[key] for key in known if key in _KINDS), "")
    return _LIBRARIES[kind]


def adapter(x: Any, precision: str) -> Arrays:
    """The adapter for an operand that `native` has seen."""
    if is_torch(x):
        from kernel_contracts.numerics.freivalds.torch_arrays import TorchArrays

        return TorchArrays(precision, x.device)
    if is_jax(x):
        from kernel_contracts.numerics.freivalds.jax_arrays import JaxArrays

        if precision == "fp64":
            raise UsageError("sums in fp64 are checked in fp64, on the processor: give arrays of NumPy")
        return JaxArrays(x)
    return NumPyArrays(precision)


def host(x: Any) -> Any:
    """The operand as a NumPy array of its own number format; no copy where it is in plain memory already."""
    if not is_torch(x):
        return np.asarray(x)
    import torch

    tensor = x.detach().cpu().resolve_neg()
    name = str(tensor.dtype).removeprefix("torch.")
    if name == "bfloat16" or name.startswith("float8"):
        import ml_dtypes

        bits = torch.int16 if name == "bfloat16" else torch.uint8
        return tensor.view(bits).numpy().view(getattr(ml_dtypes, name))
    return tensor.numpy()


def native(*operands: Any, precision: str = "auto") -> tuple[Any, ...]:
    """Operands as NumPy arrays where that costs little, as for fp32 tensors in plain memory; else as they are.

    Arrays of JAX stay where they are when all are on a device, large, and to be checked in fp32.
    """
    if all(is_torch(x) and x.device.type == "cpu" and dtype_name(x) in ("float32", "float64") for x in operands):
        return tuple(x.detach().resolve_neg().numpy() for x in operands)
    if any(is_jax(x) for x in operands):
        from kernel_contracts.numerics.freivalds.jax_arrays import stays

        return operands if stays(operands, precision) else tuple(host(x) for x in operands)
    return operands


def dtype_name(x: Any) -> str:
    """The name of an operand's number type, as NumPy and ml_dtypes spell it."""
    return _dtype_name(x.dtype)


@lru_cache(maxsize=64)
def _dtype_name(dtype: Any) -> str:
    return str(dtype).removeprefix("torch.")

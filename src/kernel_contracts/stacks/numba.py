"""Numba on the processor: NumPy arrays, and Python functions that it compiles.

Requirement: a function that is compiled already (`@njit`), or that names one, runs as its author wrote it. Any other
is compiled here with the switches of the variant; `prange = range` at the top of its file then means Numba's.
"""

from __future__ import annotations

import functools
import os
from collections.abc import Callable
from types import FunctionType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kernel_contracts.stacks.base import Plain
from kernel_contracts.stacks.numpy import STACK as NUMPY

SWITCHES = "KC_NUMBA"
"""The variable with the switches of `njit` that are on, separated by commas."""

_VARIANTS = {
    "fastmath": {SWITCHES: "fastmath"},
    "parallel": {SWITCHES: "parallel"},
    "boundscheck": {"NUMBA_BOUNDSCHECK": "1"},
    "one-thread": {"NUMBA_NUM_THREADS": "1"},
    "generic-cpu": {"NUMBA_CPU_NAME": "generic"},
    "unoptimized": {"NUMBA_OPT": "0"},
}


class NumbaStack(Plain):
    """Numba."""

    name = "numba"
    native_dtypes = frozenset({"fp64", "fp32", "int8", "int16", "int32", "int64", "uint8", "bool"})
    requires = ("numba", "numba")
    natives = "numba"
    variants = _VARIANTS
    compiling = 60.0

    def preload(self) -> None:
        _warm()

    def version(self) -> str:
        import numba

        return str(numba.__version__)

    def devices(self) -> tuple[str, ...]:
        return ("cpu",)

    def to_native(self, array: NDArray[Any], device: str) -> NDArray[Any]:
        import numba
        from numba.np.numpy_support import from_dtype

        try:
            from_dtype(array.dtype)
        except numba.errors.NumbaError:
            raise TypeError(f"Numba {numba.__version__} has no dtype {array.dtype.name}") from None
        return array

    def from_native(self, value: Any) -> NDArray[Any]:
        return NUMPY.from_native(value)

    def fingerprint(self) -> dict[str, Any]:
        import llvmlite
        import llvmlite.binding as llvm
        import numba

        return {
            "name": self.name,
            "version": self.version(),
            "llvmlite": str(llvmlite.__version__),
            "llvm": ".".join(map(str, llvm.llvm_version_info)),
            "cpu": str(numba.config.CPU_NAME or llvm.get_host_cpu_name()),
            "features": str(numba.config.CPU_FEATURES or ""),
            "threads": int(numba.config.NUMBA_NUM_THREADS),
            "threading_layer": str(numba.config.THREADING_LAYER),
            "optimization": str(numba.config.OPT),
            "boundscheck": bool(numba.config.BOUNDSCHECK),
            "jit": not numba.config.DISABLE_JIT,
            "switches": list(_switches()),
        }

    def compiled(self, function: Callable[..., Any]) -> Callable[..., Any]:
        import numba

        _warm()
        if not isinstance(function, FunctionType) or _calls_compiled(function):
            return function
        if function.__globals__.get("prange") is range:
            function.__globals__["prange"] = numba.prange
        made: Callable[..., Any] = numba.njit(**dict.fromkeys(_switches(), True))(function)
        return made


@functools.cache
def _warm() -> None:
    """The first compilation of a process loads half of the library; that is not time of the kernel."""
    import numba

    numba.njit(_first)(np.zeros(1, np.float32))


def _first(x: NDArray[Any]) -> Any:
    return np.exp(x - np.max(x))


def _switches() -> tuple[str, ...]:
    return tuple(s for s in os.environ.get(SWITCHES, "").split(",") if s)


def _calls_compiled(function: FunctionType) -> bool:
    """Whether the code names something that Numba has compiled: then it is its host, which allocates and calls."""
    from numba.core.dispatcher import Dispatcher
    from numba.np.ufunc.dufunc import DUFunc
    from numba.np.ufunc.gufunc import GUFunc

    named = (function.__globals__.get(name) for name in function.__code__.co_names)
    return any(isinstance(value, Dispatcher | DUFunc | GUFunc | np.ufunc) for value in named)


STACK = NumbaStack()

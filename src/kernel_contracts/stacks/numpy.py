"""NumPy: arrays on the processor, BLAS underneath; bf16 and fp8 through ml_dtypes.

Requirement: plain arrays only. A subclass can compute when it is read, so it is not an answer.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from kernel_contracts.measurement.exchange import kind_of
from kernel_contracts.stacks.base import Plain

_VARIANTS = {
    "one-thread": {"OPENBLAS_NUM_THREADS": "1"},
    "two-threads": {"OPENBLAS_NUM_THREADS": "2"},
    "haswell": {"OPENBLAS_CORETYPE": "Haswell"},
    "sandybridge": {"OPENBLAS_CORETYPE": "Sandybridge"},
    "prescott": {"OPENBLAS_CORETYPE": "Prescott"},
    "x86-64-v2": {"NPY_DISABLE_CPU_FEATURES": "X86_V3"},
}


class NumpyStack(Plain):
    """The built-in stack. bf16 and fp8 work but are not offered unasked: NumPy widens them on the way."""

    name = "numpy"
    native_dtypes = frozenset({"fp64", "fp32", "fp16", "int8", "int16", "int32", "int64", "uint8", "bool"})
    requires = ("numpy", "numpy")
    natives = "numpy"
    variants = _VARIANTS

    def version(self) -> str:
        return str(np.__version__)

    def devices(self) -> tuple[str, ...]:
        return ("cpu",)

    def to_native(self, array: NDArray[Any], device: str) -> NDArray[Any]:
        return array

    def from_native(self, value: Any) -> NDArray[Any]:
        if type(value) is np.ndarray:
            return value
        if isinstance(value, np.generic) and type(value) is value.dtype.type:
            return np.asarray(value)
        if isinstance(value, np.ndarray):
            raise TypeError(f"it is a {kind_of(value)}, a subclass of numpy.ndarray; return a plain array")
        raise TypeError(f"it is a {kind_of(value)}; return a numpy.ndarray")

    def fingerprint(self) -> dict[str, Any]:
        import ml_dtypes

        errors = {kind: str(action) for kind, action in np.geterr().items()}
        return {"name": self.name, "version": self.version(), "ml_dtypes": ml_dtypes.__version__, "errors": errors}

    def install_hint(self) -> str:
        return "run: pip install numpy"


STACK = NumpyStack()

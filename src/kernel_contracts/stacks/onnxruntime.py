"""ONNX Runtime: Python functions of OrtValues, and `.onnx` files as they are.

Requirement: sessions are made with the library's own defaults, so that what is measured is what a user gets. Formats
that NumPy lacks are read from the memory of the OrtValue, bit for bit.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kernel_contracts.errors import TargetError
from kernel_contracts.formats import STORED
from kernel_contracts.measurement.adapter import KernelFile
from kernel_contracts.measurement.calls import Scope
from kernel_contracts.measurement.exchange import DTYPES, kind_of
from kernel_contracts.measurement.ports import Ports
from kernel_contracts.stacks.base import Plain

_TYPES: dict[str, tuple[str, int]] = {
    "float32": ("tensor(float)", 1),
    "uint8": ("tensor(uint8)", 2),
    "int8": ("tensor(int8)", 3),
    "uint16": ("tensor(uint16)", 4),
    "int16": ("tensor(int16)", 5),
    "int32": ("tensor(int32)", 6),
    "int64": ("tensor(int64)", 7),
    "bool": ("tensor(bool)", 9),
    "float16": ("tensor(float16)", 10),
    "float64": ("tensor(double)", 11),
    "uint32": ("tensor(uint32)", 12),
    "uint64": ("tensor(uint64)", 13),
    "bfloat16": ("tensor(bfloat16)", 16),
    "float8_e4m3fn": ("tensor(float8e4m3fn)", 17),
    "float8_e4m3fnuz": ("tensor(float8e4m3fnuz)", 18),
    "float8_e5m2": ("tensor(float8e5m2)", 19),
    "float8_e5m2fnuz": ("tensor(float8e5m2fnuz)", 20),
}
"""By NumPy's name: the name of the tensor type, and its number in `TensorProto.DataType` of the ONNX standard."""

_NUMPY = {number: name for name, (_, number) in _TYPES.items()}
_BY_BITS = {n for n in _TYPES if n.startswith(("bfloat", "float8"))}
_FORMATS = {_TYPES[name][0]: f.name for name, f in STORED.items() if name in _TYPES}
_DEVICES = {"CUDAExecutionProvider": "cuda", "ROCMExecutionProvider": "rocm", "CPUExecutionProvider": "cpu"}
_FILES = {".onnx": "model.onnx"}
_QUIET = 3
"""Log level: errors only. A refused model is told of by its exception."""


class OnnxRuntimeStack(Plain):
    """ONNX Runtime."""

    name = "onnxruntime"
    native_dtypes = frozenset({"fp64", "fp32", "fp16", "int8", "int16", "int32", "int64", "uint8", "bool"})
    requires = ("onnxruntime", "onnxruntime")
    natives = "onnxruntime"
    files = _FILES

    def preload(self) -> None:
        """Nothing: the library starts a thread when it is imported, which a copy of a process would lack."""

    def version(self) -> str:
        import onnxruntime

        return str(onnxruntime.__version__)

    def devices(self) -> tuple[str, ...]:
        import onnxruntime

        found = [_DEVICES[p] for p in onnxruntime.get_available_providers() if p in _DEVICES]
        return ("cpu", *(d for d in found if d != "cpu"))

    def to_native(self, array: NDArray[Any], device: str) -> Any:
        import onnxruntime

        name = array.dtype.name
        if name not in _TYPES:
            raise TypeError(f"ONNX Runtime {onnxruntime.__version__} has no dtype {name}")
        owned = np.array(array, order="C")  # the OrtValue is a view of it
        make = onnxruntime.OrtValue
        if name in _BY_BITS:
            value = make.ortvalue_from_numpy_with_onnx_type(owned.view(f"u{owned.itemsize}"), _TYPES[name][1])
        else:
            value = make.ortvalue_from_numpy(owned)
        value.kernel_contracts_owner = owned
        return value

    def from_native(self, value: Any) -> NDArray[Any]:
        import onnxruntime

        if not isinstance(value, onnxruntime.OrtValue):
            raise TypeError(f"it is a {kind_of(value)}; return an onnxruntime.OrtValue")
        if not value.is_tensor() or value.element_type() not in _NUMPY:
            raise TypeError(f"it is a {value.data_type()}, which is no tensor of numbers")
        name = _NUMPY[value.element_type()]
        if name not in _BY_BITS:
            return np.array(value.numpy())  # a view of memory that goes with the OrtValue
        dtype, shape = DTYPES[name], tuple(value.shape())
        data = ctypes.string_at(value.data_ptr(), value.tensor_size_in_bytes())
        return np.frombuffer(bytearray(data), dtype).reshape(shape)

    def fingerprint(self) -> dict[str, Any]:
        import onnxruntime

        return {
            "name": self.name,
            "version": self.version(),
            "build": str(onnxruntime.get_build_info()),
            "providers": list(onnxruntime.get_available_providers()),
        }

    def open(self, file: str, entry: str, device: str) -> KernelFile:
        if entry:
            raise TargetError(f"target {file}:{entry}: an ONNX model is one kernel; name the file alone")
        return _Model(file, device)


def session(model: bytes | str, device: str = "cpu") -> Any:
    """A session on a device with the defaults of the library; whatever it raises is the library's."""
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.log_severity_level = _QUIET
    providers = [p for p, d in _DEVICES.items() if d == device]
    return onnxruntime.InferenceSession(model, options, providers=providers)


class _Model:
    """An `.onnx` file. Inputs are found by the contract's names where they have them, else by their order."""

    def __init__(self, file: str, device: str) -> None:
        named = Path(file).name
        try:
            self._session = session(file, device)
        except Exception as error:
            text = " ".join(str(error).split())
            raise TargetError(f"{named} cannot be opened by ONNX Runtime: {text[:500]}") from None
        inputs, outputs = (
            {a.name: a.type for a in x} for x in (self._session.get_inputs(), self._session.get_outputs())
        )
        self._ports = Ports(named, inputs, outputs, _FORMATS)
        self.formats = self._ports.formats

    def launch(self, scope: Scope) -> Callable[..., Any]:
        found, types = self._ports.matched(scope), self._ports.inputs

        def call(*values: Any, **given: Any) -> Any:
            feeds = dict(zip(found.arrays, values, strict=True))
            feeds |= {n: _scalar(given[n], types[n]) for n in found.scalars}
            made = self._session.run_with_ort_values(list(found.outputs), feeds)
            return made[0] if len(made) == 1 else tuple(made)

        return call


def _scalar(value: Any, type_: str) -> Any:
    import onnxruntime

    name = next(n for n, (t, _) in _TYPES.items() if t == type_)
    return onnxruntime.OrtValue.ortvalue_from_numpy(np.array(value, dtype=name))


STACK = OnnxRuntimeStack()

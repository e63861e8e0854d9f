"""OpenVINO: Python functions of its tensors, and models of `.xml` (its own format) and `.onnx` files as they are.

Requirement: models are compiled with the library's own defaults, and with what `KC_OPENVINO` says, which the variants
do, so that what is measured is what a user gets. Bits cross as they are; formats that NumPy lacks are held by their
bits.
"""

from __future__ import annotations

import functools
import os
import sys
from collections.abc import Callable, Sequence
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

SETTINGS = "KC_OPENVINO"
"""The variable with properties of the device for `compile_model`: `NAME=VALUE`, separated by commas."""

_TYPES = {
    "float64": "f64",
    "float32": "f32",
    "float16": "f16",
    "bfloat16": "bf16",
    "float8_e4m3fn": "f8e4m3",
    "float8_e5m2": "f8e5m2",
    "int8": "i8",
    "int16": "i16",
    "int32": "i32",
    "int64": "i64",
    "uint8": "u8",
    "uint16": "u16",
    "uint32": "u32",
    "uint64": "u64",
    "bool": "boolean",
}
"""By NumPy's name: that of the element type."""

_NUMPY = {there: name for name, there in _TYPES.items()}
_FORMATS = {_TYPES[name]: f.name for name, f in STORED.items() if name in _TYPES}
_VARIANTS = {
    "one-thread": {SETTINGS: "INFERENCE_NUM_THREADS=1"},
    "two-threads": {SETTINGS: "INFERENCE_NUM_THREADS=2"},
    "denormals-are-zero": {SETTINGS: "CPU_DENORMALS_OPTIMIZATION=YES"},
    "hint-f16": {SETTINGS: "INFERENCE_PRECISION_HINT=f16"},
    "hint-bf16": {SETTINGS: "INFERENCE_PRECISION_HINT=bf16"},
    "accuracy": {SETTINGS: "EXECUTION_MODE_HINT=ACCURACY"},
}
_ASKED = ("FULL_DEVICE_NAME", "OPTIMIZATION_CAPABILITIES", "INFERENCE_PRECISION_HINT", "EXECUTION_MODE_HINT",
          "INFERENCE_NUM_THREADS", "CPU_DENORMALS_OPTIMIZATION")  # fmt: skip
"""Properties of a device that can change a result."""


class OpenVinoStack(Plain):
    """OpenVINO."""

    name = "openvino"
    native_dtypes = frozenset(
        {"fp32", "fp16", "bf16", "fp8_e4m3fn", "fp8_e5m2", "int8", "int16", "int32", "int64", "uint8", "bool"}
    )
    """Not fp64: its arrays are taken, but computed with in fp32."""
    requires = ("openvino", "openvino")
    natives = "openvino"
    variants = _VARIANTS
    files = {".xml": "model.xml", ".onnx": "model.onnx"}  # noqa: RUF012

    def version(self) -> str:
        openvino = library()

        return str(openvino.__version__)

    def devices(self) -> tuple[str, ...]:
        return tuple(name.lower() for name in core().available_devices)

    def to_native(self, array: NDArray[Any], device: str) -> Any:
        openvino = library()

        name = array.dtype.name
        if name not in _TYPES:
            raise TypeError(f"OpenVINO {openvino.__version__} has no dtype {name}")
        made = openvino.Tensor(getattr(openvino.Type, _TYPES[name]), list(array.shape))
        if array.size:
            _bits(made)[...] = np.ascontiguousarray(array).reshape(-1).view(np.uint8)
        return made

    def from_native(self, value: Any) -> NDArray[Any]:
        openvino = library()

        if not isinstance(value, openvino.Tensor):
            raise TypeError(f"it is a {kind_of(value)}; return an openvino.Tensor")
        there = value.element_type.to_string()
        if there not in _NUMPY:
            raise TypeError(f"it is a tensor of {there}, which is no number format")
        name = _NUMPY[there]
        out: NDArray[Any] = np.empty(tuple(value.shape), DTYPES[name])
        if out.size:
            out.reshape(-1).view(np.uint8)[...] = _bits(value)
        return out

    def fingerprint(self) -> dict[str, Any]:
        return {
            "name": self.name,
            "version": self.version(),
            "devices": {name.lower(): _properties(name) for name in core().available_devices},
            "compiled_with": settings(),
        }

    def open(self, file: str, entry: str, device: str) -> KernelFile:
        if entry:
            raise TargetError(f"target {file}:{entry}: a model is one kernel; name the file alone")
        return _Model(file, device)


def library() -> Any:
    """OpenVINO, kept from what it does when it is imported: to start a process that sends usage data to its maker."""
    telemetry = sys.modules.setdefault("openvino_telemetry", None)  # type: ignore[arg-type]
    import openvino

    if telemetry is None:
        del sys.modules["openvino_telemetry"]
    return openvino


def core() -> Any:
    """The one `openvino.Core` of this process."""
    return _core(os.getpid())


@functools.cache
def _core(process: int) -> Any:
    openvino = library()

    return openvino.Core()


def settings() -> dict[str, str]:
    """The properties that models are compiled with here, beside the library's defaults."""
    pairs = (s.partition("=") for s in os.environ.get(SETTINGS, "").split(",") if s)
    return {name.strip(): value.strip() for name, _, value in pairs}


def runner(model: Any, device: str = "cpu") -> Callable[[Sequence[Any]], tuple[Any, ...]]:
    """A model as a function of tensors in the order of its inputs, compiled once; each answer has memory of its own."""
    openvino = library()

    request = core().compile_model(model, device.upper(), settings()).create_infer_request()
    count = len(request.model_outputs)

    def run(values: Sequence[Any]) -> tuple[Any, ...]:
        for place, value in enumerate(values):
            request.set_input_tensor(place, value)
        request.infer()
        made = []
        for place in range(count):
            there = request.get_output_tensor(place)
            made.append(openvino.Tensor(there.element_type, there.shape))
            if there.size:
                _bits(made[-1])[...] = _bits(there)
        return tuple(made)

    return run


def _bits(tensor: Any) -> NDArray[Any]:
    """The memory of a tensor that is not empty, as bytes."""
    view: NDArray[Any] = np.asarray(tensor.data).reshape(-1).view(np.uint8)
    return view


def _properties(device: str) -> dict[str, str]:
    there = core()
    known = set(there.get_property(device, "SUPPORTED_PROPERTIES"))
    return {name: _text(there.get_property(device, name)) for name in _ASKED if name in known}


def _text(value: Any) -> str:
    to_string = getattr(value, "to_string", None)
    return str(to_string() if to_string else value)


class _Model:
    """A model in a file. Inputs are found by the contract's names where they have them, else by their order."""

    def __init__(self, file: str, device: str) -> None:
        named = Path(file).name
        if not Path(file).is_file():
            raise TargetError(f"there is no file {file}; check the path")
        try:
            model = core().read_model(file)
            inputs, outputs = (dict(_port(p, k) for k, p in enumerate(x)) for x in (model.inputs, model.outputs))
            self._run = runner(model, device)
        except RuntimeError as error:
            text = " ".join(str(error).split())
            raise TargetError(f"{named} cannot be opened by OpenVINO: {text[:500]}") from None
        self._ports = Ports(named, inputs, outputs, _FORMATS)
        self.formats = self._ports.formats

    def launch(self, scope: Scope) -> Callable[..., Any]:
        found, types = self._ports.matched(scope), self._ports.inputs
        there = list(self._ports.outputs)
        places = [there.index(name) for name in found.outputs]

        def call(*values: Any, **given: Any) -> Any:
            feeds = dict(zip(found.arrays, values, strict=True))
            feeds |= {n: _scalar(given[n], types[n]) for n in found.scalars}
            made = self._run([feeds[name] for name in types])
            return made[places[0]] if len(places) == 1 else tuple(made[k] for k in places)

        return call


def _port(port: Any, place: int) -> tuple[str, str]:
    """Name and element type of an input or output; ports may lack names."""
    return (str(port.any_name) if port.names else f"#{place}", port.element_type.to_string())


def _scalar(value: Any, type_: str) -> Any:
    return STACK.to_native(np.array(value, DTYPES[_NUMPY[type_]]), "")


STACK = OpenVinoStack()

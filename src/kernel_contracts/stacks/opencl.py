"""OpenCL through PyOpenCL: kernels in `.cl` files, and Python functions of `pyopencl.array.Array`.

A kernel takes its arrays in the order of the scope, then its outputs, then the contract's sizes and its scalars, each
as the type that it declares. It is launched with one work item for each element of the first output, or as its file
says: docs/howto/device-kernels.md.

Requirement: the queue runs in order and is drained by `synchronize`; nothing is built with options that the variant
does not name.
"""

from __future__ import annotations

import functools
import math
import os
import shlex
import warnings
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kernel_contracts.errors import TargetError
from kernel_contracts.measurement import sources
from kernel_contracts.measurement.adapter import KernelFile
from kernel_contracts.measurement.calls import Scope, Tensor
from kernel_contracts.measurement.exchange import kind_of
from kernel_contracts.stacks.base import Plain

OPTIONS, PRELUDE = "KC_OPENCL_OPTIONS", "KC_OPENCL_PRELUDE"
"""The variables with options of the compiler, and with a line that is put before every kernel file."""

_SETTINGS = ("formats", "global", "local", "kernel")
_TYPES = {
    "fp64": "double", "fp32": "float", "fp16": "half", "int8": "char", "int16": "short", "int32": "int",
    "int64": "long", "uint8": "uchar", "bool": "uchar",
}  # fmt: skip
"""What an element of a format is in OpenCL C; a format that it lacks is its bits in an unsigned integer."""
_SCALARS = {
    "double": np.float64, "float": np.float32, "long": np.int64, "ulong": np.uint64, "int": np.int32, "uint": np.uint32,
    "short": np.int16, "ushort": np.uint16, "char": np.int8, "uchar": np.uint8,
}  # fmt: skip
_VARIANTS = {
    "denorms-are-zero": {OPTIONS: "-cl-denorms-are-zero"},
    "fast-relaxed-math": {OPTIONS: "-cl-fast-relaxed-math"},
    "no-contract": {PRELUDE: "#pragma OPENCL FP_CONTRACT OFF"},
    "unoptimized": {OPTIONS: "-cl-opt-disable"},
}


class OpenClStack(Plain):
    """OpenCL."""

    name = "opencl"
    native_dtypes = frozenset({"fp64", "fp32", "int8", "int16", "int32", "int64", "uint8"})
    requires = ("pyopencl", "opencl")
    natives = "opencl"
    compiling = 60.0
    variants = _VARIANTS
    files = {".cl": "kernels.cl:entry"}  # noqa: RUF012

    def version(self) -> str:
        import pyopencl

        return str(pyopencl.VERSION_TEXT)

    def devices(self) -> tuple[str, ...]:
        return tuple(_devices())

    def to_native(self, array: NDArray[Any], device: str) -> Any:
        import pyopencl as cl
        import pyopencl.array as cla

        made = cla.Array(_queue(device), array.shape, array.dtype)
        if array.size:
            cl.enqueue_copy(made.queue, made.base_data, np.array(array, order="C").reshape(-1).view(np.uint8))
        return made

    def from_native(self, value: Any) -> NDArray[Any]:
        import pyopencl as cl
        import pyopencl.array as cla

        if not isinstance(value, cla.Array):
            raise TypeError(f"it is a {kind_of(value)}; return a pyopencl.array.Array")
        if not value.size:
            return np.zeros(value.shape, value.dtype)
        memory = np.empty(value.base_data.size, np.uint8)
        cl.enqueue_copy(value.queue, memory, value.base_data)
        return np.ndarray(value.shape, value.dtype, memory, value.offset, value.strides)

    def synchronize(self, device: str) -> None:
        _queue(device).finish()

    def fingerprint(self) -> dict[str, Any]:
        kinds = {}
        for name, device in _devices().items():
            facts = (device.platform.version, device.name, device.driver_version, device.extensions)
            kinds[name] = " ".join(" ".join(facts).split())
        return {"name": self.name, "version": self.version(), "devices": kinds, "options": _options(), **_prelude()}

    def open(self, file: str, entry: str, device: str) -> KernelFile:
        return _Source(file, entry, device)


@functools.cache
def _devices() -> dict[str, Any]:
    """Every device by name, `cpu`, `gpu`, then `gpu:1`; none where no driver is found."""
    import pyopencl as cl

    found: dict[str, Any] = {}
    try:
        listed = [d for p in cl.get_platforms() for d in p.get_devices()]
    except cl.Error:
        return found
    for device in listed:
        bits = device.type
        kind = next((k for k in ("gpu", "cpu", "accelerator") if bits & getattr(cl.device_type, k.upper())), "custom")
        count = sum(name.partition(":")[0] == kind for name in found)
        found[f"{kind}:{count}" if count else kind] = device
    return found


@functools.cache
def _queue(device: str) -> Any:
    """The one queue of a device; its kernels and copies run in order."""
    import pyopencl as cl

    found = _devices()
    return cl.CommandQueue(cl.Context([found[device or next(iter(found))]]))


def _options() -> list[str]:
    return shlex.split(os.environ.get(OPTIONS, ""))


def _prelude() -> dict[str, str]:
    line = os.environ.get(PRELUDE, "")
    return {"prelude": line} if line else {}


class _Source:
    """A `.cl` file, built once for each set of formats: `x_t` is the type of the elements of `x`."""

    def __init__(self, file: str, entry: str, device: str) -> None:
        self._place = f"{Path(file).name}:{entry}"
        self._text, self._device = sources.read(file), device
        if not entry:
            raise TargetError(f"{Path(file).name} names no kernel; write {Path(file).name}:KERNEL")
        self._given = sources.in_comments(self._text, self._place, _SETTINGS)
        self._entry = sources.entry(self._given, file, entry)
        self.formats: frozenset[str] | None = sources.formats(self._given, self._place)
        self._built: dict[tuple[str, ...], Any] = {}

    def launch(self, scope: Scope) -> Callable[..., Any]:
        import pyopencl as cl

        sources.whole(scope, self._place)
        kernel = cl.Kernel(self._program((*scope.inputs, *scope.outputs)), self._entry)
        convert = self._passed(kernel, scope)
        sizes, local = self._grid(kernel, scope)
        values = tuple(size for _, size in scope.dims)

        def call(*arrays: Any, **given: Any) -> Any:
            outputs = [STACK.to_native(sources.blank(t), self._device) for t in scope.outputs]
            everything = (*arrays, *outputs)
            scalars = (*values, *(given[name] for name, _ in scope.scalars))
            for place, array in enumerate(everything):
                kernel.set_arg(place, array.data if array.size else None)
            for place, (make, value) in enumerate(zip(convert, scalars, strict=True), len(everything)):
                kernel.set_arg(place, make(value))
            if math.prod(sizes):
                cl.enqueue_nd_range_kernel(_queue(self._device), kernel, sizes, local)
            return outputs[0] if len(outputs) == 1 else tuple(outputs)

        return call

    def _program(self, tensors: Sequence[Tensor]) -> Any:
        import pyopencl as cl

        types = tuple(f"-D{t.name}_t={_type(t.format)}" for t in tensors)
        if types not in self._built:
            text = "".join(f"{line}\n#line 1\n" for line in _prelude().values()) + self._text
            program = cl.Program(_queue(self._device).context, text)
            try:
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore", cl.CompilerWarning)
                    built = program.build(["-cl-kernel-arg-info", *_options(), *types], cache_dir=False)
            except cl.Error as error:
                raise TargetError(f"{self._place} cannot be built: {_first(str(error))}") from None
            names = built.kernel_names.split(";") if isinstance(built.kernel_names, str) else built.kernel_names
            if self._entry not in names:
                raise TargetError(f"{self._place} names no kernel of that file; it has {', '.join(names)}")
            self._built[types] = built
        return self._built[types]

    def _passed(self, kernel: Any, scope: Scope) -> list[Callable[[Any], Any]]:
        """How sizes and scalars are passed: as the types that the kernel declares. Refuses another signature."""
        import pyopencl as cl

        declared = [kernel.get_arg_info(n, cl.kernel_arg_info.TYPE_NAME) for n in range(kernel.num_args)]
        tensors = (*scope.inputs, *scope.outputs)
        wanted = (*(t.name for t in tensors), *(n for n, _ in scope.dims), *(n for n, _ in scope.scalars))
        if len(declared) != len(wanted):
            raise TargetError(f"{self._place} takes {len(declared)} arguments; the contract gives {', '.join(wanted)}")
        for tensor, type_ in zip(tensors, declared, strict=False):
            if type_.rstrip("*").rstrip("0123456789") != _type(tensor.format) or not type_.endswith("*"):
                given = f"the contract gives {tensor.format}; choose --dtype"
                raise TargetError(f"{self._place} takes {tensor.name} as {type_}; {given}")
        numbers = list(zip(wanted, declared, strict=True))[len(tensors) :]
        if odd := [f"{name} as {type_}" for name, type_ in numbers if type_ not in _SCALARS]:
            raise TargetError(f"{self._place} takes {odd[0]}; numbers are passed as {', '.join(_SCALARS)}")
        return [_SCALARS[type_] for _, type_ in numbers]

    def _grid(self, kernel: Any, scope: Scope) -> tuple[tuple[int, ...], tuple[int, ...] | None]:
        """Work items, and those of one group where the kernel or its file says; groups are whole."""
        import pyopencl as cl

        sizes = sources.work(self._given, scope, self._place)
        key = cl.kernel_work_group_info.COMPILE_WORK_GROUP_SIZE
        group = tuple(kernel.get_work_group_info(key, _devices()[self._device or next(iter(_devices()))]))
        local = group[: len(sizes)] if any(group) else None
        if "local" in self._given:
            local = sources.sizes(self._given["local"], scope, self._place)
        if local is None:
            return sizes, None
        if len(local) != len(sizes) or not all(local):
            raise TargetError(f"{self._place} is launched over {len(sizes)} sizes, its groups over {len(local)}")
        return tuple(-(-n // step) * step for n, step in zip(sizes, local, strict=True)), local


def _type(name: str) -> str:
    wide = {1: "uchar", 2: "ushort", 4: "uint", 8: "ulong"}
    return _TYPES.get(name) or wide[sources.width(name)]


def _first(text: str) -> str:
    """The first complaint of a compiler, without the file that a driver made of the text."""
    line = next((s for s in text.splitlines() if "error" in s.lower() and "clBuildProgram" not in s), "")
    return line.rpartition(".cl:")[2] or " ".join(text.split())[:200]


STACK = OpenClStack()

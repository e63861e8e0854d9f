"""WebGPU through wgpu: compute shaders in `.wgsl` files.

A shader finds its arrays in group 0, inputs from binding 0 on in the order of the scope, then outputs, and then a
uniform with the contract's sizes (`i32` or `u32`) and its scalars (`f32` or `i32`). It is launched with one invocation
for each element of the first output, or as its file says: docs/howto/device-kernels.md.

Requirement: bits cross as they are, in words of 32 bits: a 64-bit integer is two words, narrower formats are packed.
"""

from __future__ import annotations

import functools
import re
import struct
from collections.abc import Callable, Sequence
from dataclasses import dataclass
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

_SETTINGS = ("formats", "global", "kernel")
_TYPES = {"fp32": "f32", "int32": "i32", "int64": "vec2<i32>"}
"""What an element of a format is in WGSL; others come as words of 32 bits."""
_WISHES = ("shader-f16", "shader-f64", "shader-int64", "shader-float32-atomic", "subgroup")
"""Features that are switched on where the adapter has them, so that files that need them run."""
_LIMITS = ("max-storage-buffers-per-shader-stage", "max-storage-buffer-binding-size", "max-buffer-size")
_LEAST = 16
"""Bytes of the smallest buffer: no shader may be bound to an empty one."""
_BINDING = re.compile(r"@binding\(\s*(\d+)[iu]?\s*\)[^;{}]*?var\s*<\s*(\w+)\s*(?:,\s*(\w+)\s*)?>")
_GROUP = r"@workgroup_size\(([^)]*)\)[^;{{}}]*?\bfn\s+{}\b"
_DIRECTIVES = re.compile(r"(?:\s|//[^\n]*\n|(?:enable|requires|diagnostic)\b[^;]*;)*")
_VARIANTS = {"one-thread": {"LP_NUM_THREADS": "1"}, "narrow-vectors": {"LP_NATIVE_VECTOR_WIDTH": "128"}}
"""Settings of Mesa's software driver; others do not read them."""


@dataclass(frozen=True, slots=True)
class DeviceArray:
    """An array in a buffer of a device; WebGPU has buffers of bytes only."""

    buffer: Any
    queue: Any
    shape: tuple[int, ...]
    dtype: np.dtype[Any]


class WebGpuStack(Plain):
    """WebGPU."""

    name = "webgpu"
    native_dtypes = frozenset({"fp32", "int32"})
    requires = ("wgpu", "webgpu")
    natives = "webgpu"
    compiling = 60.0
    variants = _VARIANTS
    files = {".wgsl": "shader.wgsl:entry"}  # noqa: RUF012

    def version(self) -> str:
        import wgpu

        return str(wgpu.__version__)

    def devices(self) -> tuple[str, ...]:
        return tuple(_adapters())

    def install_hint(self) -> str:
        return f"{super().install_hint()}; without a graphics card also: apt-get install mesa-vulkan-drivers"

    def to_native(self, array: NDArray[Any], device: str) -> DeviceArray:
        import wgpu

        usage = wgpu.BufferUsage.STORAGE | wgpu.BufferUsage.COPY_SRC | wgpu.BufferUsage.COPY_DST
        data = np.array(array, order="C").reshape(-1).view(np.uint8).tobytes()
        size = max(-(-len(data) // 4) * 4, _LEAST)
        there = _device(device)
        made = there.create_buffer_with_data(data=data.ljust(size, b"\0"), usage=usage)
        return DeviceArray(made, there.queue, array.shape, array.dtype)

    def from_native(self, value: Any) -> NDArray[Any]:
        if not isinstance(value, DeviceArray):
            raise TypeError(f"it is a {kind_of(value)}; return a kernel_contracts.stacks.webgpu.DeviceArray")
        count = int(np.prod(value.shape, dtype=np.int64))
        data = bytearray(value.queue.read_buffer(value.buffer))
        out: NDArray[Any] = np.frombuffer(data, value.dtype, count).reshape(value.shape)
        return out

    def synchronize(self, device: str) -> None:
        """By reading a buffer: a queue does one thing after another."""
        _device(device).queue.read_buffer(_fence(device))

    def fingerprint(self) -> dict[str, Any]:
        kinds = {name: {str(k): str(v) for k, v in adapter.info.items()} for name, adapter in _adapters().items()}
        return {"name": self.name, "version": self.version(), "adapters": kinds}

    def open(self, file: str, entry: str, device: str) -> KernelFile:
        return _Shader(file, entry, device)


@functools.cache
def _adapters() -> dict[str, Any]:
    """Every adapter by name: `gpu`, `cpu` for a driver in software, then `cpu:1`; none where there is no driver."""
    import wgpu

    found: dict[str, Any] = {}
    try:
        listed = wgpu.gpu.enumerate_adapters_sync()
    except (RuntimeError, OSError):
        return found
    for adapter in listed:
        kind = "cpu" if str(adapter.info["adapter_type"]).upper() == "CPU" else "gpu"
        count = sum(name.partition(":")[0] == kind for name in found)
        found[f"{kind}:{count}" if count else kind] = adapter
    return found


@functools.cache
def _device(name: str) -> Any:
    adapters = _adapters()
    adapter = adapters[name or next(iter(adapters))]
    return adapter.request_device_sync(
        required_features=[f for f in _WISHES if f in adapter.features],
        required_limits={n: adapter.limits[n] for n in _LIMITS if n in adapter.limits},
    )


@functools.cache
def _fence(name: str) -> Any:
    return STACK.to_native(np.zeros(_LEAST, np.uint8), name).buffer


class _Shader:
    """A `.wgsl` file, translated once for each set of formats: `x_t` is the type of the elements of `x`."""

    def __init__(self, file: str, entry: str, device: str) -> None:
        self._place = f"{Path(file).name}:{entry}"
        self._text, self._device = sources.read(file), device
        if not entry:
            raise TargetError(f"{Path(file).name} names no function; write {Path(file).name}:FUNCTION")
        self._given = sources.in_comments(self._text, self._place, _SETTINGS)
        self._entry = sources.entry(self._given, file, entry)
        self.formats: frozenset[str] | None = sources.formats(self._given, self._place)
        self._group = self._group_size()
        self._bindings = self._declared()
        self._built: dict[str, tuple[Any, Any]] = {}

    def _group_size(self) -> tuple[int, ...]:
        found = re.search(_GROUP.format(re.escape(self._entry)), self._text)
        if found is None:
            raise TargetError(f"{self._place} is no compute shader with a workgroup_size of that file")
        sizes = [part.strip().rstrip("iu") for part in found[1].split(",") if part.strip()]
        if not all(s.isdecimal() and int(s) for s in sizes):
            raise TargetError(f"{self._place} has the workgroup_size ({found[1]}); write numbers")
        return tuple(map(int, sizes)) + (1,) * (3 - len(sizes))

    def _declared(self) -> dict[int, str]:
        """Kind of each binding of the file, as a layout calls it."""
        kinds = {"uniform": "uniform", "read_write": "storage"}
        found: dict[int, str] = {}
        for number, space, access in _BINDING.findall(re.sub(r"//[^\n]*", "", self._text)):
            if int(number) in found:
                raise TargetError(
                    f"{self._place} is in a file that declares binding {number} twice; keep one kernel a file"
                )
            found[int(number)] = kinds.get(access or space, "read-only-storage")
        return found

    def launch(self, scope: Scope) -> Callable[..., Any]:
        sources.whole(scope, self._place)
        tensors = (*scope.inputs, *scope.outputs)
        self._check(tensors, scope)
        pipeline, layout = self._pipeline(tensors)
        groups = self._groups(scope)

        def call(*arrays: Any, **given: Any) -> Any:
            outputs = [STACK.to_native(sources.blank(t), self._device) for t in scope.outputs]
            buffers = [a.buffer for a in (*arrays, *outputs)]
            numbers = _numbers(scope, given, self._place)
            if numbers:
                buffers.append(_uniform(self._device, numbers))
            if all(groups):
                self._dispatch(pipeline, layout, buffers, groups)
            return outputs[0] if len(outputs) == 1 else tuple(outputs)

        return call

    def _check(self, tensors: Sequence[Tensor], scope: Scope) -> None:
        names = [t.name for t in tensors] + (["sizes and scalars"] if scope.dims or scope.scalars else [])
        if over := sorted(n for n in self._bindings if n >= len(names)):
            raise TargetError(f"{self._place} declares binding {over[0]}; the contract gives {', '.join(names)}")
        for number, kind in self._bindings.items():
            if (kind == "uniform") != (number == len(tensors)):
                raise TargetError(f"{self._place} declares binding {number} as {kind}; there it finds {names[number]}")

    def _pipeline(self, tensors: Sequence[Tensor]) -> tuple[Any, Any]:
        import wgpu

        types = "".join(f"alias {t.name}_t = {_TYPES.get(t.format, 'u32')}; " for t in tensors)
        if types not in self._built:
            found = _DIRECTIVES.match(self._text)
            start = found.end() if found else 0
            device = _device(self._device)
            entries = [
                {"binding": n, "visibility": wgpu.ShaderStage.COMPUTE, "buffer": {"type": kind}}
                for n, kind in sorted(self._bindings.items())
            ]
            try:
                shader = device.create_shader_module(code=f"{self._text[:start]}{types}{self._text[start:]}")
                layout = device.create_bind_group_layout(entries=entries)
                whole = device.create_pipeline_layout(bind_group_layouts=[layout])
                stage = {"module": shader, "entry_point": self._entry}
                self._built[types] = device.create_compute_pipeline(layout=whole, compute=stage), layout
            except wgpu.GPUError as error:
                raise TargetError(f"{self._place} cannot be translated: {_sentence(str(error))}") from None
        return self._built[types]

    def _groups(self, scope: Scope) -> tuple[int, ...]:
        sizes = sources.work(self._given, scope, self._place)
        most = _device(self._device).limits["max-compute-workgroups-per-dimension"]
        groups = tuple(-(-n // step) for n, step in zip((*sizes, 1, 1), self._group, strict=False))
        if max(groups) > most:
            raise TargetError(f"{self._place} would need {max(groups)} workgroups along one side; {most} is the most")
        return groups

    def _dispatch(self, pipeline: Any, layout: Any, buffers: Sequence[Any], groups: tuple[int, ...]) -> None:
        device = _device(self._device)
        bound = [
            {"binding": n, "resource": {"buffer": buffers[n], "offset": 0, "size": buffers[n].size}}
            for n in sorted(self._bindings)
        ]
        group = device.create_bind_group(layout=layout, entries=bound)
        encoder = device.create_command_encoder()
        run = encoder.begin_compute_pass()
        run.set_pipeline(pipeline)
        run.set_bind_group(0, group)
        run.dispatch_workgroups(*groups)
        run.end()
        device.queue.submit([encoder.finish()])


def _numbers(scope: Scope, given: dict[str, Any], place: str) -> bytes:
    """Sizes and scalars, four bytes each."""
    out = b""
    for name, size in scope.dims:
        if size >= 1 << 31:
            raise TargetError(f"{place} would be told {name} = {size}, which does not fit 32 bits")
        out += struct.pack("<i", size)
    for name, kind in scope.scalars:
        out += struct.pack("<f", given[name]) if kind == "real" else struct.pack("<i", int(given[name]))
    return out


def _uniform(device: str, data: bytes) -> Any:
    import wgpu

    size = -(-len(data) // _LEAST) * _LEAST
    return _device(device).create_buffer_with_data(data=data.ljust(size, b"\0"), usage=wgpu.BufferUsage.UNIFORM)


def _sentence(text: str) -> str:
    """What a message says after its heading, on one line, without the picture of the source."""
    lines = [line.strip() for line in text.splitlines() if line.strip() and not line.lstrip().startswith(("│", "In "))]
    told = [line for line in lines if line not in ("Validation Error", "Caused by:")]
    return " ".join(" ".join(told).split())[:300] or "the driver gives no reason"


STACK = WebGpuStack()

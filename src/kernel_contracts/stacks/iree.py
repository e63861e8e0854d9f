"""IREE: Python functions of its device arrays, and modules of `.mlir` files, compiled in this process.

Requirement: modules are compiled for the processor they run on, otherwise with the library's own defaults and with
what `KC_IREE` says, which the variants do. Bits cross as they are.
"""

from __future__ import annotations

import functools
import importlib.metadata
import importlib.util
import os
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kernel_contracts.errors import TargetError
from kernel_contracts.formats import STORED
from kernel_contracts.measurement import sources
from kernel_contracts.measurement.adapter import KernelFile
from kernel_contracts.measurement.calls import Scope
from kernel_contracts.measurement.exchange import DTYPES, kind_of
from kernel_contracts.stacks.base import Plain, installed

SETTINGS = "KC_IREE"
"""The variable with flags of the compiler, separated by spaces; they come after those of `FLAGS`."""
DRIVER = "KC_IREE_DRIVER"
"""The variable with the driver of the runtime; `local-task` without it."""
FLAGS = ("--iree-hal-target-backends=llvm-cpu", "--iree-llvmcpu-target-cpu=host", "--iree-input-type=auto")

_TYPES = {
    "float64": ("f64", "FLOAT_64"),
    "float32": ("f32", "FLOAT_32"),
    "float16": ("f16", "FLOAT_16"),
    "bfloat16": ("bf16", "BFLOAT_16"),
    "float8_e4m3fn": ("f8E4M3FN", "FLOAT_8_E4M3_FN"),
    "float8_e5m2": ("f8E5M2", "FLOAT_8_E5M2"),
    "float8_e4m3fnuz": ("f8E4M3FNUZ", "FLOAT_8_E4M3_FNUZ"),
    "float8_e5m2fnuz": ("f8E5M2FNUZ", "FLOAT_8_E5M2_FNUZ"),
    "int8": ("i8", "SINT_8"),
    "int16": ("i16", "SINT_16"),
    "int32": ("i32", "SINT_32"),
    "int64": ("i64", "SINT_64"),
    "uint8": ("ui8", "UINT_8"),
    "uint16": ("ui16", "UINT_16"),
    "uint32": ("ui32", "UINT_32"),
    "uint64": ("ui64", "UINT_64"),
    "bool": ("i1", "BOOL_8"),
}
"""By NumPy's name: the type in a module, and that of the elements of a buffer."""
_NARROW = frozenset(
    ("fp32", "fp16", "bf16", "fp8_e4m3fn", "fp8_e5m2", "int8", "int16", "int32", "int64", "uint8", "bool")
)
_WIDE = "--iree-input-demote-f64-to-f32=false"
_VARIANTS = {
    "f64": {SETTINGS: _WIDE},
    "vmvx": {SETTINGS: "--iree-hal-target-backends=vmvx"},
    "generic-cpu": {SETTINGS: "--iree-llvmcpu-target-cpu=generic"},
    "unoptimized": {SETTINGS: "--iree-opt-level=O0"},
    "one-thread": {DRIVER: "local-sync"},
}


class IreeStack(Plain):
    """IREE."""

    name = "iree"
    requires = ("iree", "iree")
    natives = "iree"
    variants = _VARIANTS
    compiling = 60.0
    files = {".mlir": "module.mlir:function"}  # noqa: RUF012

    @property
    def native_dtypes(self) -> frozenset[str]:
        """The compiler narrows fp64 to fp32, and the runtime then refuses it, unless told otherwise."""
        said = {**os.environ, **self.environment}.get(SETTINGS, "").split()
        return _NARROW | ({"fp64"} if _WIDE in said else set())

    def available(self) -> bool:
        """Other packages may lie in the folder `iree`; both of these are needed."""
        return all(installed_below("iree", part) for part in ("compiler", "runtime"))

    def version(self) -> str:
        return importlib.metadata.version("iree-base-compiler")

    def devices(self) -> tuple[str, ...]:
        return ("cpu",)

    def to_native(self, array: NDArray[Any], device: str) -> Any:
        from iree import runtime

        name = array.dtype.name
        if name not in _TYPES:
            raise TypeError(f"IREE {self.version()} has no dtype {name}")
        there = _device()
        view = there.allocator.allocate_buffer_copy(
            memory_type=runtime.MemoryType.DEVICE_LOCAL,
            allowed_usage=runtime.BufferUsage.DEFAULT | runtime.BufferUsage.MAPPING,
            device=there,
            buffer=_words(array),
            element_type=getattr(runtime.HalElementType, _TYPES[name][1]),
        )
        return runtime.DeviceArray(there, view)

    def from_native(self, value: Any) -> NDArray[Any]:
        from iree import runtime

        if not isinstance(value, runtime.DeviceArray):
            raise TypeError(f"it is a {kind_of(value)}; return an iree.runtime.DeviceArray")
        view = value._buffer_view
        number = int(view.element_type)
        if number not in _elements():
            raise TypeError(f"it is an array of {runtime.HalElementType(number)}, which is no number format")
        out: NDArray[Any] = np.empty(tuple(view.shape), DTYPES[_elements()[number]])
        if out.size:
            # The map may be longer than the array, and is only valid as long as it is held.
            mapped = view.map()
            out.reshape(-1).view(np.uint8)[...] = mapped.asarray([out.nbytes], np.dtype(np.uint8))
        return out

    def fingerprint(self) -> dict[str, Any]:
        from iree import compiler, runtime

        return {
            "name": self.name,
            "version": self.version(),
            "runtime": importlib.metadata.version("iree-base-runtime"),
            "targets": sorted(map(str, compiler.query_available_targets())),
            "drivers": sorted(map(str, runtime.query_available_drivers())),
            "flags": list(flags()),
            "driver": driver(),
        }

    def open(self, file: str, entry: str, device: str) -> KernelFile:
        return _File(file, entry)


def installed_below(package: str, part: str) -> bool:
    """Whether a part of a package without code of its own can be imported, without importing anything."""
    found = importlib.util.find_spec(package) if installed(package) else None
    places = (found.submodule_search_locations if found else None) or ()
    return any((Path(place) / part / "__init__.py").is_file() for place in places)


def flags() -> tuple[str, ...]:
    """What the compiler is told; a flag of the environment replaces that of the same name."""
    told = {f.partition("=")[0]: f for f in (*FLAGS, *os.environ.get(SETTINGS, "").split())}
    return tuple(told.values())


def driver() -> str:
    """The driver of the runtime."""
    return os.environ.get(DRIVER, "") or "local-task"


def typed(array: Any) -> tuple[tuple[int, ...], str]:
    """Shape of a device array and the type of its elements in a module."""
    view = array._buffer_view
    return tuple(view.shape), _TYPES[_elements()[int(view.element_type)]][0]


@functools.cache
def _device() -> Any:
    from iree import runtime

    return runtime.get_device(driver())


@functools.cache
def _elements() -> dict[int, str]:
    """NumPy's name by the number of an element type; integers may have lost their sign on the way."""
    from iree import runtime

    kinds = runtime.HalElementType
    found = {int(getattr(kinds, there)): name for name, (_, there) in _TYPES.items()}
    return found | {int(getattr(kinds, f"INT_{width}")): f"int{width}" for width in (8, 16, 32, 64)}


def _words(array: NDArray[Any]) -> NDArray[Any]:
    """The bits of an array of any rank as unsigned integers."""
    return np.array(array, order="C").reshape(-1).view(f"u{array.itemsize}").reshape(array.shape)


class Refused(Exception):
    """A module that the compiler does not take, in its words."""


def translated(text: str) -> bytes:
    """A module as bytecode for this machine; Refused says why the compiler does not take it."""
    from iree.compiler.api import Output, Session

    said: list[str] = []

    def heard(diagnostic: Any) -> bool:
        said.append(str(diagnostic.message))
        return True

    with Session() as session:
        session.set_flags(*flags())
        run = session.invocation()
        run.import_module(_parsed(text, session).operation)
        handler = session.context.attach_diagnostic_handler(heard)
        try:
            if not run.execute():
                raise Refused("; ".join(said) or "the compiler gives no reason")
        finally:
            handler.detach()
        out = Output.open_membuffer()
        run.output_vm_bytecode(out)
        return bytes(out.map_memory())


def _parsed(text: str, session: Any) -> Any:
    from iree.compiler import ir

    try:
        return ir.Module.parse(text, session.context)
    except ir.MLIRError as error:
        raise Refused(str(error)) from None


@functools.cache
def loaded(text: str, entry: str = "main") -> Callable[..., Any]:
    """A function of a module, compiled and loaded once; device arrays in and out."""
    from iree import runtime

    context = runtime.SystemContext(config=runtime.Config(device=_device()))
    module = runtime.VmModule.copy_buffer(context.instance, translated(text))
    context.add_vm_module(module)
    found: Callable[..., Any] = context.modules[module.name][entry]
    return found


_ARGUMENT = re.compile(r"(?:tensor|memref|vector)<(?:[0-9?]+x)*([A-Za-z]\w*)")
_FORMATS = {_TYPES[name][0]: f.name for name, f in STORED.items() if name in _TYPES}


class _File:
    """A function of a `.mlir` file: arrays in the order of the scope, and then its scalars where it takes them."""

    def __init__(self, file: str, entry: str) -> None:
        self._name = Path(file).name
        text = sources.read(file)
        if not entry:
            raise TargetError(f"{self._name} names no function; write {self._name}:FUNCTION")
        try:
            given, made = _signature(text, entry)
            self._call = loaded(text, entry)
        except (Refused, LookupError) as error:
            reason = " ".join(str(error.args[0]).split())[:500]
            raise TargetError(f"{self._name}:{entry} cannot be compiled by IREE: {reason}") from None
        self._arguments = given
        known = all(t in _FORMATS for t in (*given, *made))
        self.formats = frozenset(_FORMATS[t] for t in (*given, *made)) if known else None

    def launch(self, scope: Scope) -> Callable[..., Any]:
        count, scalars = len(scope.inputs), [name for name, _ in scope.scalars]
        if len(self._arguments) not in (count, count + len(scalars)):
            names = ", ".join([*(t.name for t in scope.inputs), *scalars])
            raise TargetError(f"{self._name} takes {len(self._arguments)} arguments; the contract gives {names}")
        types = self._arguments[count:]

        def call(*arrays: Any, **given: Any) -> Any:
            numbers = [_scalar(given[name], type_) for name, type_ in zip(scalars, types, strict=False)]
            return self._call(*arrays, *numbers)

        return call


def _signature(text: str, entry: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Element types of what a function takes and gives; LookupError with a sentence where there is no such function."""
    from iree.compiler import ir
    from iree.compiler.api import Session

    with Session() as session:
        types = {
            ir.StringAttr(op.attributes["sym_name"]).value: str(op.attributes["function_type"])
            for op in _parsed(text, session).body.operations
            if "sym_name" in op.attributes and "function_type" in op.attributes
        }
    if entry not in types:
        raise LookupError(f"it has no function {entry}; it has {', '.join(types) or 'none'}")
    given, _, made = types[entry].partition(" -> ")
    return tuple(_ARGUMENT.findall(given)), tuple(_ARGUMENT.findall(made))


def _scalar(value: Any, type_: str) -> Any:
    name = next(n for n, (there, _) in _TYPES.items() if there == type_)
    return STACK.to_native(np.array(value, DTYPES[name]), "cpu")


STACK = IreeStack()

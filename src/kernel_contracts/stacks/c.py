"""The C ABI: functions of shared libraries, and C files that are compiled when they are opened.

A function takes pointers to contiguous arrays in the order of the scope, then pointers to the outputs, then the
contract's sizes as `int64_t`, then its scalars: `double` for real, `int64_t` for int, `int` for bool.

Requirement: a library cannot say what it expects, so what it takes is written beside it: docs/howto/c-kernels.md.
"""

from __future__ import annotations

import ctypes
import os
import platform
import shlex
import subprocess
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kernel_contracts.errors import TargetError
from kernel_contracts.measurement import sources
from kernel_contracts.measurement.adapter import KernelFile
from kernel_contracts.measurement.calls import Scope
from kernel_contracts.stacks.base import Plain
from kernel_contracts.stacks.numpy import STACK as NUMPY

FLAGS = "KC_CFLAGS"
"""The variable with the flags for C files."""
_FLAGS = "-O2"
_SETTINGS = ("formats", "returns")
_LIBRARIES = (".so", ".dylib", ".dll")
_TYPES = {
    "fp64": "double", "fp32": "float", "int8": "int8_t", "int16": "int16_t", "int32": "int32_t", "int64": "int64_t",
    "uint8": "uint8_t", "bool": "_Bool",
}  # fmt: skip
"""What an array of a format is in C; a format that C lacks is its bits in an unsigned integer."""
_SCALARS: dict[str, Any] = {"real": ctypes.c_double, "int": ctypes.c_int64, "bool": ctypes.c_int}
_VARIANTS = {
    "unoptimized": {FLAGS: "-O0"},
    "native": {FLAGS: "-O3 -march=native"},
    "no-contract": {FLAGS: "-O3 -march=native -ffp-contract=off"},
    "fast-math": {FLAGS: "-O3 -ffast-math"},
}


class CStack(Plain):
    """The C ABI of this platform."""

    name = "c"
    native_dtypes = frozenset(_TYPES)
    requires = ("numpy", "numpy")
    natives = "c"
    variants = _VARIANTS
    files = {".c": "kernel.c:function", **{s: f"lib{s}:symbol" for s in _LIBRARIES}}  # noqa: RUF012

    def version(self) -> str:
        return " ".join(platform.libc_ver()).strip() or platform.system()

    def devices(self) -> tuple[str, ...]:
        return ("cpu",)

    def to_native(self, array: NDArray[Any], device: str) -> NDArray[Any]:
        return array if array.flags.c_contiguous else np.array(array, order="C")

    def from_native(self, value: Any) -> NDArray[Any]:
        return NUMPY.from_native(value)

    def fingerprint(self) -> dict[str, Any]:
        facts = {"name": self.name, "version": self.version(), "machine": platform.machine()}
        return {**facts, "compiler": _compiler(), "flags": _flags()}

    def install_hint(self) -> str:
        return "shared libraries need nothing; for C files install a C compiler, and name it in CC"

    def open(self, file: str, entry: str, device: str) -> KernelFile:
        place = Path(file).name
        if not entry:
            raise TargetError(f"{place} names no function; write {place}:FUNCTION")
        if Path(file).suffix in _LIBRARIES:
            return _Library(_loaded(file), entry, place)
        return _Source(file, entry)


def _flags() -> str:
    return os.environ.get(FLAGS, _FLAGS)


def _compiler() -> str:
    """The first line of what the compiler says of itself; empty where there is none."""
    try:
        done = subprocess.run([*_command(), "--version"], capture_output=True, text=True, check=False)
    except OSError:
        return ""
    return (done.stdout.splitlines() or [""])[0]


def _command() -> list[str]:
    return shlex.split(os.environ.get("CC", "cc"))


def _loaded(file: str) -> ctypes.CDLL:
    if not Path(file).is_file():
        raise TargetError(f"there is no file {file}; check the path")
    try:
        return ctypes.CDLL(file)
    except OSError as error:
        text = " ".join(str(error).split()).removeprefix(f"{file}: ")
        raise TargetError(f"{Path(file).name} cannot be loaded: {text}") from None


class _Library:
    """A function of a shared library. `NAME_kc`, a text that the library exports, says what cannot be seen."""

    def __init__(self, library: ctypes.CDLL, entry: str, place: str, given: Mapping[str, str] | None = None) -> None:
        self._place = f"{place}:{entry}"
        try:
            self._function = library[entry]
        except AttributeError:
            raise TargetError(f"{place} exports no symbol {entry}; see nm -D {place}, and extern C in C++") from None
        given = _exported(library, entry, self._place) if given is None else given
        self.formats: frozenset[str] | None = sources.formats(given, self._place)
        self._status = given.get("returns") == "status"
        if given.get("returns", "status") != "status":
            raise TargetError(f"{self._place} returns {given['returns']}; the only setting is `returns = status`")
        self._function.restype = ctypes.c_int if self._status else None

    def launch(self, scope: Scope) -> Callable[..., Any]:
        sources.whole(scope, self._place)
        sizes = [ctypes.c_int64(size) for _, size in scope.dims]

        def call(*arrays: Any, **given: Any) -> Any:
            outputs = [sources.blank(t) for t in scope.outputs]
            pointers = [ctypes.c_void_p(a.ctypes.data) for a in (*arrays, *outputs)]
            scalars = [_SCALARS[kind](given[name]) for name, kind in scope.scalars]
            status = self._function(*pointers, *sizes, *scalars)
            if self._status and status:
                raise RuntimeError(f"{self._place} returned status {status}")
            return outputs[0] if len(outputs) == 1 else tuple(outputs)

        return call


def _exported(library: ctypes.CDLL, entry: str, place: str) -> dict[str, str]:
    """The settings that a library exports as `const char NAME_kc[]`."""
    try:
        head = ctypes.c_char.in_dll(library, f"{entry}_kc")
    except ValueError:
        return {}
    return sources.settings(ctypes.string_at(ctypes.addressof(head)).decode("utf-8", "replace"), place, _SETTINGS)


class _Source:
    """A C file, compiled once for each set of formats: `x_t` is the type of the elements of `x`."""

    def __init__(self, file: str, entry: str) -> None:
        self._file, self._entry, self._place = Path(file), entry, f"{Path(file).name}:{entry}"
        self._given = sources.in_comments(sources.read(file), self._place, _SETTINGS)
        self.formats: frozenset[str] | None = sources.formats(self._given, self._place)
        self._built: dict[tuple[str, ...], _Library] = {}

    def launch(self, scope: Scope) -> Callable[..., Any]:
        tensors = (*scope.inputs, *scope.outputs)
        types = tuple(f"-D{t.name}_t={_TYPES.get(t.format) or _bits(t.format)}" for t in tensors)
        if types not in self._built:
            self._built[types] = _Library(self._compile(types), self._entry, self._file.name, self._given)
        return self._built[types].launch(scope)

    def _compile(self, types: tuple[str, ...]) -> ctypes.CDLL:
        with tempfile.TemporaryDirectory() as folder:
            made = Path(folder) / "kernel.so"
            command = [*_command(), "-shared", "-fPIC", *shlex.split(_flags()), *types, "-o", str(made)]
            try:
                done = subprocess.run(
                    [*command, str(self._file), "-lm"], capture_output=True, text=True, check=False, cwd=folder
                )
            except OSError:
                raise TargetError(f"{self._place} needs a C compiler: there is no {_command()[0]}; set CC") from None
            if done.returncode:
                errors = [line for line in done.stderr.splitlines() if "error" in line] or ["the compiler failed"]
                text = errors[0].removeprefix(f"{self._file.parent}/")
                raise TargetError(f"{self._place} cannot be compiled: {text}")
            return _loaded(str(made))


def _bits(name: str) -> str:
    return f"uint{8 * sources.width(name)}_t"


STACK = CStack()

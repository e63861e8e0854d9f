"""tinygrad, on the devices that it drives, with each of its code generators, and on its emulators of tensor cores.

The device is the one that tinygrad chooses, or that its variable `DEV` names; a variant is a setting of that variable.
The variants `interpreter`, `sm_80`, `sm_89`, `gfx1100`, `gfx950` and `metal` run kernels in Python, one thread after
another: they hide races and are slow, so they are evidence about what a kernel means, not about what it does there.

Requirement: arrays cross as bytes. tinygrad computes late: a kernel's answer is realized before the call is done.
"""

from __future__ import annotations

import functools
import os
import subprocess
import sys
from collections.abc import Callable
from functools import wraps
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kernel_contracts.measurement.exchange import DTYPES, kind_of
from kernel_contracts.stacks.base import Plain, installed

SWITCH = "DEV"
"""tinygrad's variable for the device, `DEVICE:CODE GENERATOR:ARCHITECTURE`."""

_INTERPRETER = "PYTHON"
_VARIANTS = {
    "clang": {SWITCH: "CPU:CLANG"},
    "x86": {SWITCH: "CPU:X86"},
    "interpreter": {SWITCH: _INTERPRETER},
    "sm_80": {SWITCH: f"{_INTERPRETER}::sm_80"},
    "sm_89": {SWITCH: f"{_INTERPRETER}::sm_89"},
    "gfx1100": {SWITCH: f"{_INTERPRETER}::gfx1100"},
    "gfx950": {SWITCH: f"{_INTERPRETER}::gfx950"},
    "metal": {SWITCH: f"{_INTERPRETER}::METAL"},
}
_SWITCHES = (
    "BEAM", "NOOPT", "USE_TC", "TC_SELECT", "TC_OPT", "TRANSCENDENTAL", "NOLOCALS", "SPLIT_REDUCEOP", "FLOAT16", "WINO",
    "IMAGE", "EMULATED_DTYPES", "DEFAULT_FLOAT", "DEFAULT_INT", "ALLOW_TF32", "USE_ATOMICS", "NUM_CPU_THREADS",
)  # fmt: skip
"""Settings of `tinygrad.helpers` that can change a result."""
_HELD = {
    "float8_e4m3fn": "fp8e4m3", "float8_e5m2": "fp8e5m2", "float8_e4m3fnuz": "fp8e4m3fnuz",
    "float8_e5m2fnuz": "fp8e5m2fnuz",
} | {n: n for n in ("bool", "float64", "float32", "float16", "bfloat16")} | {
    f"{u}int{n}": f"{u}int{n}" for u in ("", "u") for n in (8, 16, 32, 64)
}  # fmt: skip
"""NumPy's name of a dtype to tinygrad's."""
_ALWAYS = frozenset(
    {"fp64", "fp32", "fp16", "fp8_e4m3fn", "fp8_e5m2", "int8", "int16", "int32", "int64", "uint8", "bool"}
)
_CLANG = "ClangRenderer"
_PROBE = b"__bf16 twice(__bf16 x) { return x + x; }"
_PATIENCE = 30.0
_COMPILING, _EMULATING = 60.0, 600.0
"""Seconds on top of the limit for the first call of a kind."""


class TinygradStack(Plain):
    """tinygrad."""

    name = "tinygrad"
    requires = ("tinygrad", "tinygrad")
    natives = "tinygrad"
    variants = _VARIANTS

    @property
    def compiling(self) -> float:  # type: ignore[override]
        """Also what the emulators need for work that a device does at once: that is not time of the kernel either."""
        return _EMULATING if self._setting()[0] == _INTERPRETER else _COMPILING

    @property
    def native_dtypes(self) -> frozenset[str]:
        """All that every code generator computes; bf16 where the setting names another than clang, which may not."""
        device, generator = self._setting()
        clang = device in ("", "CPU") and generator in ("", "CLANG")
        return _ALWAYS if clang else _ALWAYS | {"bf16"}

    def available(self) -> bool:
        """On a processor every code generator needs clang, and no other compiler: it builds the queue of work."""
        if not installed("tinygrad"):
            return False
        device = self._setting()[0]
        needless = device not in ("", "CPU") or (not device and _accelerated())
        return needless or "clang" in _compiler_version(_compiler()).lower()

    def install_hint(self) -> str:
        if installed("tinygrad") and not self.available():
            return f"run: apt-get install clang (tinygrad compiles with {_compiler()!r}, which is no clang here)"
        return f"{super().install_hint()}; without a graphics card also: apt-get install clang"

    def version(self) -> str:
        from importlib.metadata import version

        return version("tinygrad")

    def devices(self) -> tuple[str, ...]:
        from tinygrad import Device

        found = str(Device[Device.DEFAULT].device).lower()
        return (found,) if found in ("cpu", "python") or not _compiler_version(_compiler()) else (found, "cpu")

    def to_native(self, array: NDArray[Any], device: str) -> Any:
        from tinygrad import Tensor, dtypes
        from tinygrad.device import Buffer

        name = array.dtype.name
        if name not in _HELD:
            raise TypeError(f"tinygrad {self.version()} has no dtype {name}")
        if name == "bfloat16" and _by_clang(device) and not _clang_has_bf16():
            raise TypeError(f"{_compiler()} compiles no bfloat16, so tinygrad has none here; stack tinygrad@x86 has it")
        made = Tensor.empty(*array.shape, dtype=getattr(dtypes, _HELD[name]), device=device.upper() or None)
        if array.size:
            held = made._buffer()
            held.copy_from(Buffer("PYTHON", held.size, held.dtype, opaque=memoryview(bytearray(array.tobytes()))))
        return made

    def from_native(self, value: Any) -> NDArray[Any]:
        from tinygrad import Tensor
        from tinygrad.dtype import strong_dtype

        if not isinstance(value, Tensor):
            raise TypeError(f"it is a {kind_of(value)}; return a tinygrad.Tensor")
        if not all(isinstance(size, int) for size in value.shape):
            raise TypeError(f"it is a tinygrad.Tensor of the shape {value.shape}, which has no numbers yet")
        plain = value.cast(strong_dtype(value.dtype))  # a constant has a dtype only when it is used
        name = _names().get(plain.dtype)
        if name is None:
            raise TypeError(f"it is a tinygrad.Tensor of {plain.dtype}, which is no number format")
        data = bytearray(plain._buffer().as_memoryview()) if plain.numel() else bytearray()
        return np.frombuffer(data, DTYPES[name]).reshape(plain.shape)

    def synchronize(self, device: str) -> None:
        from tinygrad import Device

        Device[device.upper() or Device.DEFAULT].synchronize()

    def fingerprint(self) -> dict[str, Any]:
        from tinygrad import Device, helpers

        renderer = Device[Device.DEFAULT].renderer
        return {
            "name": self.name,
            "version": self.version(),
            "device": str(Device.DEFAULT),
            "target": str(renderer.target),
            "renderer": type(renderer).__name__,
            "interpreter": type(renderer).__name__ == "PythonRenderer",
            "compiler": _compiler_version(_compiler()) if type(renderer).__name__ == _CLANG else "",
            "switches": {name: getattr(helpers, name).value for name in _SWITCHES if hasattr(helpers, name)},
            "sum_dtype": os.environ.get("SUM_DTYPE", ""),
        }

    def compiled(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """The function with its answer realized, so that what takes long or fails does so inside the call."""
        from tinygrad import Tensor

        @wraps(function)
        def realized(*arrays: Any, **scalars: Any) -> Any:
            value = function(*arrays, **scalars)
            if isinstance(value, tuple):
                return tuple(_realized(item) if isinstance(item, Tensor) else item for item in value)
            return _realized(value) if isinstance(value, Tensor) else value

        return realized

    def _setting(self) -> tuple[str, str]:
        """Device and code generator that the worker's process is told to use; asked in the session too."""
        told = {**os.environ, **self.environment}.get(SWITCH, "").partition(";")[0].rpartition("+")[2].upper()
        device, _, rest = told.partition(":")
        return device, rest.partition(":")[0]


def _realized(value: Any) -> Any:
    return value.contiguous().realize()


def _by_clang(device: str) -> bool:
    """Whether clang makes the code of kernels on a device."""
    from tinygrad import Device

    return type(Device[device.upper() or Device.DEFAULT].renderer).__name__ == _CLANG


def _accelerated() -> bool:
    """Whether there may be a device that tinygrad drives without clang; opens none."""
    return sys.platform == "darwin" or any(os.path.exists(p) for p in ("/dev/nvidiactl", "/dev/kfd", "/dev/kgsl-3d0"))


def _compiler() -> str:
    return os.environ.get("CC", "clang")


@functools.cache
def _compiler_version(compiler: str) -> str:
    """The first line of what a compiler says of itself; empty where there is none."""
    try:
        done = subprocess.run([compiler, "--version"], capture_output=True, text=True, timeout=_PATIENCE, check=True)
    except (OSError, subprocess.SubprocessError):
        return ""
    return done.stdout.partition("\n")[0].strip()


@functools.cache
def _clang_has_bf16() -> bool:
    """Whether the compiler takes arithmetic on its bf16 type, as those before clang 17 do not on x86."""
    command = [_compiler(), "-x", "c", "-fsyntax-only", "-"]
    try:
        return (
            subprocess.run(command, input=_PROBE, capture_output=True, timeout=_PATIENCE, check=False).returncode == 0
        )
    except (OSError, subprocess.SubprocessError):
        return False


@functools.cache
def _names() -> dict[Any, str]:
    """tinygrad's dtypes to NumPy's names."""
    from tinygrad import dtypes

    return {getattr(dtypes, held): name for name, held in _HELD.items()}


STACK = TinygradStack()

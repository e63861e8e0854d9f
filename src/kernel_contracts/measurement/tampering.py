"""Whether a kernel has put something of its own in the place of what measures it.

No verdict rests on this process: values are compared and time is read elsewhere, so that replacing a clock or a
comparison gains nothing. It shows intent all the same, and an honest kernel has no reason for it.
"""

from __future__ import annotations

import contextlib
import os
import sys
import zlib
from collections.abc import Iterable, Iterator, Mapping
from types import ModuleType
from typing import Any

_CLOCKS = ("time", "time_ns", "perf_counter", "perf_counter_ns", "monotonic", "monotonic_ns", "process_time")
_COMPARISONS = ("allclose", "isclose", "array_equal", "array_equiv", "equal")
WATCHED: Mapping[str, tuple[str, ...]] = {
    "time": _CLOCKS,
    "os": ("read", "write", "pwrite"),
    "json": ("dumps", "loads"),
    "statistics": ("mean", "median", "fmean", "stdev"),
    "numpy": _COMPARISONS,
    "numpy.testing": ("assert_allclose", "assert_array_equal", "assert_equal"),
    "torch": _COMPARISONS,
    "torch.testing": ("assert_close",),
    "jax.numpy": _COMPARISONS,
}
"""Functions that a judge would rely on if it lived in this process. Only modules that are loaded are looked at."""
_OURS = "kernel_contracts."
_TEXTS = ("libc.so", "libc-", "libm.so", "libm-", "libpython", "python3")
"""Beginnings of the files whose machine code is compared: what clocks and Python itself run on."""


def told(state: Mapping[str, Any]) -> tuple[str, str]:
    """What a worker says of a call beside its answer, as a defect and its detail; empty where all is well."""
    for key, defect, words in (("tampered", "judge_tampered", "replaced"), ("forbidden", "fallback_used", "called")):
        names = state.get(key)
        if isinstance(names, list) and names:
            return defect, f"{words} {', '.join(map(str, names))}"
    return "", ""


class Snapshot:
    """How everything was before any code of the kernel ran. Requirement: taken after the stack is loaded."""

    def __init__(self, stack: object) -> None:
        places = [*_modules(), *_own(), (type(stack).__name__, vars(type(stack)), ("from_native", "synchronize"))]
        self._known = tuple(
            (f"{label}.{name}", space, name, space[name], _code(space[name]))
            for label, space, names in places
            for name in names
            if name in space
        )
        self._texts = dict(_texts())

    def changed(self, *, machine_code: bool = False) -> list[str]:
        """Names of what is no longer the same; with `machine_code` also the files whose code in memory changed."""
        found = [
            label
            for label, space, name, value, code in self._known
            if space.get(name) is not value or _code(value) is not code
        ]
        if machine_code and self._texts:
            now = dict(_texts())
            found += [f"machine code of {f}" for f, crc in self._texts.items() if now.get(f, crc) != crc]
        return found


def _modules() -> Iterator[tuple[str, Mapping[str, Any], Iterable[str]]]:
    for module, names in WATCHED.items():
        loaded = sys.modules.get(module)
        if isinstance(loaded, ModuleType):
            yield module, vars(loaded), names


def _own() -> Iterator[tuple[str, Mapping[str, Any], Iterable[str]]]:
    """Every function and method of this package that is loaded here."""
    for module in [m for n, m in sorted(sys.modules.items()) if n.startswith(_OURS)]:
        space = vars(module)
        own = {n: v for n, v in space.items() if getattr(v, "__module__", None) == module.__name__}
        yield module.__name__, space, [n for n, v in own.items() if callable(v)]
        for name, value in own.items():
            if isinstance(value, type):
                yield f"{module.__name__}.{name}", vars(value), [n for n, v in vars(value).items() if _code(v)]


def _code(value: Any) -> Any:
    return getattr(value, "__code__", None)


def _texts() -> Iterator[tuple[str, int]]:
    """A checksum of the machine code of each of those files, as it lies in memory."""
    sums: dict[str, int] = {}
    with (
        contextlib.suppress(OSError, ValueError),
        open("/proc/self/maps") as maps,
        open("/proc/self/mem", "rb", buffering=0) as memory,
    ):
        for line in maps:
            span, rights, *_, path = line.split(maxsplit=5)
            name = os.path.basename(path.strip())
            if "x" in rights and name.startswith(_TEXTS):
                low, high = (int(end, 16) for end in span.split("-"))
                memory.seek(low)
                sums[name] = zlib.crc32(memory.read(high - low), sums.get(name, 0))
    yield from sums.items()

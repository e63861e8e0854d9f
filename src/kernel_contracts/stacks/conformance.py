"""The conformance kit: does a stack keep every promise of its protocol? For our stacks and for anybody's.

    assert not [p for p in examine(MyStack()) if p.broken]

Requirement: run in a process of its own (`kc doctor` does), since a library that is loaded already can neither be
loaded by mistake again nor change a switch that it has changed before. Computes nothing on the device but copies.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from itertools import islice
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kernel_contracts.errors import KernelContractsError, TargetError
from kernel_contracts.formats import FORMATS
from kernel_contracts.measurement.adapter import Stack
from kernel_contracts.measurement.conduct import float_state
from kernel_contracts.measurement.exchange import DTYPES
from kernel_contracts.measurement.fingerprint import platform_fingerprint
from kernel_contracts.stacks.base import find

SHAPES = ((), (0,), (1,), (5,), (3, 4), (2, 0, 3), (2, 3, 4))
_SHOWN = 3


@dataclass(frozen=True, slots=True)
class Promise:
    """One promise of the protocol, and how it was broken; empty where it was kept."""

    text: str
    broken: str


def examine(stack: Stack, device: str = "") -> tuple[Promise, ...]:
    """Every promise in turn, on one device; the default one when none is named. The stack must be installed."""
    return tuple(Promise(check.__doc__ or "", _told(check, stack, device)) for check in PROMISES)


Check = Callable[[Stack, str], Iterator[str]]


def _told(check: Check, stack: Stack, device: str) -> str:
    try:
        return "; ".join(islice(check(stack, device), _SHOWN))
    except Exception as error:  # whatever an adapter raises here, it should not have
        return f"raised {type(error).__name__}: {error}"


def _light(stack: Stack, device: str) -> Iterator[str]:
    """available() imports nothing"""
    before = set(sys.modules)
    if not stack.available():
        yield "it is not installed"
    loaded = {name.partition(".")[0] for name in set(sys.modules) - before}
    if loaded:
        yield f"it imported {', '.join(sorted(loaded))}"


def _described(stack: Stack, device: str) -> Iterator[str]:
    """name, formats, variants, files, devices and version are data"""
    if not isinstance(stack, Stack):
        yield "it has not all of the protocol's attributes"
    if unknown := sorted(stack.native_dtypes - FORMATS.keys()):
        yield f"native_dtypes has {', '.join(unknown)}, which are no formats"
    settings = [v for variant in (stack.environment, *stack.variants.values()) for v in variant.items()]
    if not all(isinstance(k, str) and isinstance(v, str) for k, v in settings):
        yield "a variant sets something other than texts"
    if wrong := [s for s in stack.files if not s.startswith(".") or s == ".py"]:
        yield f"files has {', '.join(wrong)}, which is no suffix of its own"
    devices = stack.devices()
    if not devices or not all(isinstance(d, str) and d for d in devices):
        yield f"devices() gives {devices!r}"
    if not isinstance(stack.version(), str) or not stack.version():
        yield f"version() gives {stack.version()!r}"
    if "install" not in stack.install_hint():
        yield f"install_hint() says {stack.install_hint()!r}"


def _bits(stack: Stack, device: str) -> Iterator[str]:
    """every native format keeps every bit on the way in and out"""
    for name in sorted(stack.native_dtypes):
        for shape in SHAPES:
            yield from _crossed(stack, device, sample(name, shape), f"{name}{list(shape)}")
        yield from _crossed(stack, device, patterns(name), f"{name}, special values")


def _further(stack: Stack, device: str) -> Iterator[str]:
    """a format that it lacks is a TypeError with a sentence, never a conversion"""
    for name in sorted(f.name for f in FORMATS.values() if f.storage in DTYPES and f.name not in stack.native_dtypes):
        array = patterns(name)
        try:
            stack.to_native(array, device)
        except TypeError as error:
            if len(str(error).split()) < 3:
                yield f"{name}: {str(error)!r} is no sentence"
        else:
            yield from _crossed(stack, device, array, name)


def _views(stack: Stack, device: str) -> Iterator[str]:
    """views with any strides, and arrays that may not be written, cross like others"""
    for name in sorted(stack.native_dtypes):
        base = sample(name, (6, 8))
        frozen = base.copy()
        frozen.flags.writeable = False
        made = {"transposed": base.T, "every other": base[:, ::2], "offset": base[1:, 3:], "read-only": frozen}
        for what, view in made.items():
            yield from _crossed(stack, device, view, f"{name}, {what}")


def _kept(stack: Stack, device: str) -> Iterator[str]:
    """converting one array leaves it and every other as they were"""
    first, second = sample("fp32", (5, 3)), sample("fp32", (3, 5)) + np.float32(1)
    copies = first.copy(), second.copy()
    natives = stack.to_native(first, device), stack.to_native(second, device)
    out = [stack.from_native(n) for n in natives]
    for array, there, original in zip((first, second), out, copies, strict=True):
        if array.tobytes() != original.tobytes() or there.tobytes() != original.tobytes():
            yield "an array changed when another was converted"


def _refused(stack: Stack, device: str) -> Iterator[str]:
    """what is no array is a TypeError that says what it is"""
    for value in (None, [1.0], 1.0, "x", {"a": 1}, object()):
        try:
            stack.from_native(value)
        except TypeError as error:
            if not str(error).startswith("it is a"):
                yield f"{type(value).__name__}: {str(error)!r} does not begin with 'it is a'"
        else:
            yield f"a {type(value).__name__} passed for an array"
    if stack.files:
        try:
            stack.open(f"missing{next(iter(stack.files))}", "entry", device or stack.devices()[0])
        except TargetError:
            return
        yield "a kernel file that does not exist was opened"


def _fenced(stack: Stack, device: str) -> Iterator[str]:
    """synchronize() returns on every device"""
    for each in (device,) if device else stack.devices():
        stack.to_native(sample("fp32", (4,)), each)
        if stack.synchronize(each) is not None:  # type: ignore[func-returns-value]
            yield f"synchronize({each!r}) returned something"


def _facts(stack: Stack, device: str) -> Iterator[str]:
    """the fingerprint is plain data, the same at every call, and names the version"""
    first, again = stack.fingerprint(), stack.fingerprint()
    if json.loads(json.dumps(first)) != first:
        yield "it changes on the way through JSON"
    if first != again:
        differ = sorted(k for k in first if first[k] != again.get(k))
        yield f"{', '.join(differ)} changed between two calls"
    if first.get("version") != stack.version():
        yield f"it says version {first.get('version')!r}, version() says {stack.version()!r}"


PROMISES: tuple[Check, ...] = (*(_light, _described, _bits, _further, _views, _kept, _refused, _fenced, _facts),)


def _crossed(stack: Stack, device: str, array: NDArray[Any], what: str) -> Iterator[str]:
    """What is wrong with an array after it went to the stack and back."""
    before = array.tobytes()
    back = stack.from_native(stack.to_native(array, device))
    if (back.dtype, back.shape) != (array.dtype, array.shape):
        yield f"{what}: came back as {back.dtype}{list(back.shape)}, not {array.dtype}{list(array.shape)}"
    elif back.tobytes() != before:
        yield f"{what}: some bits changed"
    if array.tobytes() != before:
        yield f"{what}: the original was changed"


def sample(name: str, shape: tuple[int, ...]) -> NDArray[Any]:
    """Random bits of a format, NaNs of any payload and subnormals among them."""
    storage = FORMATS[name].storage
    if storage == "bool":
        return np.asarray(np.arange(int(np.prod(shape))).reshape(shape) % 2 == 0)
    dtype = DTYPES[storage]
    bits = np.random.default_rng(3).integers(0, 256, (*shape, dtype.itemsize), np.uint8)
    array: NDArray[Any] = bits.view(dtype).reshape(shape)
    return array


def patterns(name: str) -> NDArray[Any]:
    """Every bit pattern of a narrow format; of a wide one both zeros, infinities, NaNs, and the ends of subnormals."""
    fmt = FORMATS[name]
    dtype = DTYPES[fmt.storage]
    if dtype == np.bool_:
        return np.array([False, True])
    word = np.dtype(f"u{dtype.itemsize}")
    width = 8 * dtype.itemsize
    if width <= 16:
        return np.arange(1 << width, dtype=word).view(dtype)
    if not fmt.is_real:
        return np.array([0, 1, (1 << width - 1) - 1, 1 << width - 1, (1 << width) - 1], word).view(dtype)
    fraction = fmt.precision - 1
    exponent = ((1 << width - 1) - 1) & ~((1 << fraction) - 1)  # all ones: an infinity, and with a fraction a NaN
    ends = [0, 1, (1 << fraction) - 1, 1 << fraction, exponent - 1, exponent]
    nans = [exponent | 1, exponent | 1 << fraction - 1, exponent | (1 << fraction - 1) + 5]
    return np.array([x | sign for x in ends + nans for sign in (0, 1 << width - 1)], word).view(dtype)


def state() -> dict[str, Any]:
    """What a stack must leave alone: switches of arithmetic, here and in NumPy, and variables that change results."""
    tiny = np.full(3, 1e-40, np.float32)
    return {
        **{k: v for k, v in float_state().items() if k != "threads"},
        "numpy_keeps_subnormals": bool((tiny * np.float32(1) == tiny).all()),
        "numpy_errors": dict(np.geterr()),
        "environment": platform_fingerprint()["environment"],
    }


def undisturbed(stack: Stack, device: str = "") -> tuple[Promise, ...]:
    """All promises, and that keeping them changed no switch of this process."""
    before = state()
    kept = examine(stack, device)
    now = state()
    changed = sorted(k for k in before if before[k] != now[k])
    return (*kept, Promise("no switch of the process is changed", ", ".join(changed)))


def main() -> None:
    """The program that `kc doctor` starts: the name of a stack and a device in, JSON out."""
    name, device = sys.argv[1:]
    try:
        stack = find(name)
        answer: Any = [asdict(p) for p in undisturbed(stack, device)]
        if not stack.devices():
            answer = f"stack {name} finds no device on this machine; install a driver for one"
    except KernelContractsError as error:
        answer = str(error)
    sys.stdout.write(json.dumps(answer) + "\n")
    sys.stdout.flush()
    os._exit(0)  # some libraries do not end their threads


if __name__ == "__main__":
    main()

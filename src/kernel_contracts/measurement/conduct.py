"""One call of the kernel, as seen from inside the worker: prepare, poison, call, collect.

Requirement: everything the kernel does is turned into a message; nothing it raises passes through. What is reported
is an observation by an untrusted process: the session checks bytes and outputs itself.
"""

from __future__ import annotations

import math
import os
import threading
import time
import traceback
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kernel_contracts.measurement.adapter import Stack
from kernel_contracts.measurement.exchange import DTYPES, copy_bits, poisoned, view, write_at

_TEXT = 2000


@dataclass(frozen=True, slots=True)
class Ending:
    """How the kernel's own code ended: a value or an error, and the switches it left behind."""

    value: Any
    error: BaseException | None
    state: dict[str, Any]


class Defect(Exception):
    """What came back is not an array or a tuple of arrays; the text says what it is."""


def prepare(
    stack: Stack, device: str, buffer: Any, places: Sequence[Mapping[str, Any]]
) -> tuple[list[NDArray[Any]], list[Any]]:
    """The inputs as views of the shared memory, and the same as arrays of the stack."""
    views = [view(buffer, p["dtype"], p["shape"], p["strides"], p["offset"]) for p in places]
    return views, [stack.to_native(v, device) for v in views]


def out_arrays(stack: Stack, device: str, outputs: Sequence[Sequence[Any]]) -> tuple[Any, ...]:
    """Arrays full of poison for a kernel that writes where it is told."""
    return tuple(
        stack.to_native(poisoned(math.prod(shape), DTYPES[name]).reshape(shape), device) for shape, name in outputs
    )


def run(function: Any, natives: Sequence[Any], scalars: Mapping[str, Any], stack: Stack, device: str) -> Ending:
    """Calls the kernel and waits for the device."""
    home = os.getpid()
    value, failure = None, None
    try:
        value = function(*natives, **scalars)
        stack.synchronize(device)
    except BaseException as error:  # SystemExit and KeyboardInterrupt are the kernel's doing too
        failure = error
    if os.getpid() != home:
        os._exit(0)  # a child that the kernel forked: two processes must not answer on one channel
    return Ending(value, failure, float_state())


def collect(value: Any, stack: Stack) -> list[NDArray[Any]]:
    """The returned arrays, bit for bit; Defect when there are none."""
    items = list(tuple.__iter__(value)) if isinstance(value, tuple) else [value]
    if not items:
        raise Defect("returned an empty tuple; a kernel returns an array or a tuple of arrays")
    arrays = []
    for place, item in enumerate(items):
        where = f"item {place} of the returned tuple" if isinstance(value, tuple) else "the returned object"
        try:
            array = stack.from_native(item)
        except TypeError as error:
            raise Defect(f"{where} is not an array: {error}") from None
        if array.dtype.name not in DTYPES:
            raise Defect(f"{where} has dtype {array.dtype}, which is not a number format")
        arrays.append(array)
    return arrays


def store(arrays: Sequence[NDArray[Any]], fd: int) -> list[dict[str, Any]]:
    """Writes the arrays one after another in C order; says where each one is."""
    places: list[dict[str, Any]] = []
    offset = 0
    for array in arrays:
        native = array if array.dtype.isnative else array.astype(array.dtype.newbyteorder("="))
        flat = native.copy(order="C").reshape(-1).view(np.uint8)
        write_at(fd, flat, offset)
        places.append({"dtype": native.dtype.name, "shape": array.shape, "offset": offset})
        offset += flat.size
    return places


def changed_later(value: Any, stack: Stack, arrays: Sequence[NDArray[Any]], seconds: float) -> int:
    """How many elements of what was returned are other ones after a while: somebody still writes to them."""
    before = [a.copy(order="C").reshape(-1).view(np.uint8) for a in arrays]
    time.sleep(seconds)
    after = [a.copy(order="C").reshape(-1).view(np.uint8) for a in collect(value, stack)]
    return sum(
        int((b != a).reshape(-1, array.itemsize).any(axis=1).sum()) if a.size == b.size else array.size
        for b, a, array in zip(before, after, arrays, strict=False)
        if array.size
    )


def mirror(
    stack: Stack, places: Sequence[Mapping[str, Any]], views: Sequence[NDArray[Any]], natives: Sequence[Any]
) -> list[str]:
    """Brings inputs that live in a device's memory back into the shared memory, where changes are looked for.

    Returns the inputs that can no longer be compared because their shape or dtype was changed in place.
    """
    lost = []
    for place, shared, native in zip(places, views, natives, strict=True):
        try:
            now = stack.from_native(native)
        except (TypeError, RuntimeError):
            lost.append(place["name"])
            continue
        if now.shape != tuple(place["shape"]) or now.dtype.name != place["dtype"]:
            lost.append(place["name"])
        elif now.size and not np.may_share_memory(now, shared) and now.tobytes() != shared.tobytes():
            copy_bits(shared, now)
    return lost


def aliases(outputs: Sequence[NDArray[Any]], names: Sequence[str], views: Sequence[NDArray[Any]]) -> list[str]:
    """Inputs whose memory an output shares."""
    return [n for n, v in zip(names, views, strict=True) if any(np.may_share_memory(o, v) for o in outputs)]


def describe(error: BaseException) -> dict[str, str]:
    """Class name and text of what the kernel raised, with the line it came from."""
    kind = str(type(error).__name__)
    try:
        text = str(error)
    except BaseException:
        text = "(its text cannot be read)"
    frames = traceback.extract_tb(error.__traceback__)[1:]  # the first frame is `run`
    place = f" ({os.path.basename(frames[-1].filename)}:{frames[-1].lineno})" if frames else ""
    return {"error": kind[:200], "text": f"{kind}: {text[:_TEXT]}{place}" if text else f"{kind}{place}"}


def is_out_of_memory(error: BaseException) -> bool:
    """Whether an error says that memory ran out; libraries wrap the refusal in errors of their own."""
    if isinstance(error, MemoryError) or type(error).__name__ == "OutOfMemoryError":
        return True
    try:
        text = str(error).lower()
    except BaseException:
        return False
    return any(words in text for words in ("cannot allocate memory", "can't allocate memory", "bad_alloc"))


def float_state() -> dict[str, Any]:
    """Switches of this thread's floating-point unit, read by arithmetic, and the number of Python threads.

    Operands come from a tuple so that the compiler of Python cannot compute the answers.
    """
    least_normal, half, least_subnormal, big, one, tiny = 2.0**-1022, 0.5, 5e-324, 2.0**1000, 1.0, 2.0**-53
    up, down = one + tiny > one, -one - tiny < -one
    toward_zero = (one - tiny / 2) < one and not up and not down
    return {
        "flush_to_zero": not least_normal * half > 0.0,
        "denormals_are_zero": not least_subnormal * big > 0.0,
        "rounding": "up" if up else "down" if down else "zero" if toward_zero else "nearest",
        "threads": threading.active_count(),
    }

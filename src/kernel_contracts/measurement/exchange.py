"""Arrays across the process border: a shared file without a name, and the layout of inputs inside it.

Requirement: the trusting side never maps the shared memory. It reads and writes by position, so a kernel that cuts
the file short causes a short read there, not a bus error.
"""

from __future__ import annotations

import math
import os
import tempfile
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import ml_dtypes
import numpy as np
from numpy.typing import NDArray

from kernel_contracts.contracts.evidence import Layout
from kernel_contracts.formats import STORED, find
from kernel_contracts.measurement.calls import ArrayIn

GUARD = 64
"""Poisoned bytes on both sides of every array; also the alignment of contiguous ones (one cache line)."""
_LEAD = 3
"""Elements before an OFFSET view: odd, so that no vector width divides it."""
_INT_POISON = 0xA5

Bytes = NDArray[np.uint8]


def _dtypes() -> dict[str, np.dtype[Any]]:
    plain = [np.dtype(c) for c in "?bhilqBHILQefdgFD"]
    extra = [np.dtype(t) for t in vars(ml_dtypes).values() if isinstance(t, type) and issubclass(t, np.generic)]
    return {d.name: d for d in (*plain, *extra)}


DTYPES = _dtypes()
"""Every dtype that may cross the border, by name. Anything else is not an array of numbers."""


def format_name(dtype: np.dtype[Any]) -> str:
    """The language's name for a dtype, or NumPy's own where the language has none."""
    found = STORED.get(dtype.name)
    return found.name if found is not None else dtype.name


def kind_of(value: object) -> str:
    """The type of what should have been an array, as its user writes it: `list`, `torch.nn.parameter.Parameter`."""
    kind = type(value)
    return f"{kind.__module__}.{kind.__qualname__}".removeprefix("builtins.")


def storage_name(format_: str) -> str:
    """The dtype name that holds a format; KeyError when no such format exists."""
    found = find(format_)
    if found is None or found.storage not in DTYPES:
        raise KeyError(format_)
    return found.storage


def poison_byte(dtype: np.dtype[Any]) -> int:
    """The byte that fills memory with NaNs of this dtype; for integers and bool a value nobody returns by accident."""
    if dtype.kind in "biu":
        return _INT_POISON
    # All ones is a NaN in every format but the "fnuz" pair, whose only NaN is the pattern of minus zero.
    return 0x80 if dtype.name.endswith("fnuz") else 0xFF


def poisoned(count: int, dtype: np.dtype[Any]) -> NDArray[Any]:
    """`count` elements of poison."""
    return np.full(count * dtype.itemsize, poison_byte(dtype), np.uint8).view(dtype)


def copy_bits(into: NDArray[Any], source: NDArray[Any]) -> None:
    """Element-wise copy that keeps every bit, payloads of NaNs included."""
    if source.dtype.itemsize in (1, 2, 4, 8):
        word = np.dtype(f"u{source.dtype.itemsize}")
        into.view(word)[...] = source.view(word)
    else:
        into[...] = source


@dataclass(frozen=True, slots=True)
class Placement:
    """Where one array lies in the shared file."""

    name: str
    dtype: str
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    offset: int
    start: int
    stop: int
    """The array's stretch of the file, guards and gaps included."""

    def as_json(self) -> dict[str, Any]:
        return {"name": self.name, "dtype": self.dtype, "shape": self.shape, "strides": self.strides,
                "offset": self.offset}  # fmt: skip


def view(buffer: Any, dtype: str, shape: Sequence[int], strides: Sequence[int], offset: int) -> NDArray[Any]:
    """The array at a placement, on any writable buffer."""
    return np.ndarray(tuple(shape), DTYPES[dtype], buffer, offset, tuple(strides))


def pack(arrays: Sequence[ArrayIn]) -> tuple[Bytes, tuple[Placement, ...]]:
    """The image of all inputs as the kernel shall find it, poison around and between them, and the places."""
    natives = [(given, _native(given.array)) for given in arrays]
    placements = []
    cursor = 0
    for given, array in natives:
        placement = _place(given, array, cursor)
        placements.append(placement)
        cursor = placement.stop
    image = np.empty(max(cursor, GUARD), np.uint8)
    image[cursor:] = 0
    for (_, array), place in zip(natives, placements, strict=True):
        image[place.start : place.stop] = poison_byte(array.dtype)
        copy_bits(view(image, place.dtype, place.shape, place.strides, place.offset), array)
    return image, tuple(placements)


def _native(array: NDArray[Any]) -> NDArray[Any]:
    array = np.asarray(array)
    if array.dtype.name not in DTYPES:
        raise TypeError(f"dtype {array.dtype} cannot be handed to a kernel: inputs are arrays of numbers or bool")
    return array if array.dtype.isnative else array.astype(array.dtype.newbyteorder("="))


def _place(given: ArrayIn, array: NDArray[Any], start: int) -> Placement:
    shape, item = array.shape, array.dtype.itemsize
    stored, lead = list(shape), 0
    if given.layout is Layout.TRANSPOSED and array.ndim >= 2:
        stored[-1], stored[-2] = stored[-2], stored[-1]
    elif given.layout is Layout.STRIDED and array.ndim >= 1:
        stored[-1] *= 2
    elif given.layout is Layout.OFFSET:
        lead = _LEAD
    steps = [math.prod(stored[axis + 1 :]) * item for axis in range(len(stored))]
    if given.layout is Layout.TRANSPOSED and array.ndim >= 2:
        steps[-1], steps[-2] = steps[-2], steps[-1]
    elif given.layout is Layout.STRIDED and array.ndim >= 1:
        steps[-1] *= 2
    used = GUARD + (lead + math.prod(stored) + lead) * item + GUARD
    stop = start + -(-used // GUARD) * GUARD
    return Placement(given.name, array.dtype.name, shape, tuple(steps), start + GUARD + lead * item, start, stop)


def changed(image: Bytes, now: Bytes, placements: Iterable[Placement]) -> tuple[str, ...]:
    """Names of the inputs whose stretch of the file differs from the image; a file cut short counts as changed."""
    if np.array_equal(image, now):
        return ()
    return tuple(p.name for p in placements if not np.array_equal(image[p.start : p.stop], now[p.start : p.stop]))


class Region:
    """A file without a name in memory, shared by handing its descriptor on. Grows as it is written."""

    def __init__(self) -> None:
        if hasattr(os, "memfd_create"):
            self.fd = os.memfd_create("kernel-contracts", os.MFD_CLOEXEC)
            return
        directory = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
        with tempfile.TemporaryFile(dir=directory) as file:
            self.fd = os.dup(file.fileno())

    def write(self, data: Bytes) -> None:
        write_at(self.fd, data, 0)

    def read(self, offset: int, count: int) -> Bytes:
        """At most `count` bytes from `offset`; fewer where the file ends before."""
        out = np.empty(count, np.uint8)
        done = 0
        while done < count:
            got = os.preadv(self.fd, [out[done:].data], offset + done)
            if not got:
                break
            done += got
        return out[:done]

    def size(self) -> int:
        return os.fstat(self.fd).st_size

    def close(self) -> None:
        if self.fd >= 0:
            os.close(self.fd)
            self.fd = -1


def write_at(fd: int, data: Bytes, offset: int) -> None:
    """All of `data` at `offset`; one system call moves at most 2 GiB."""
    done = 0
    while done < data.size:
        done += os.pwrite(fd, data[done:].data, offset + done)

"""Memory that shows whether a kernel wrote what it returned: freed blocks full of NaN, ready to be handed out again.

Requirement: runs in the worker just before the call. An allocation without initialisation of an expected output's
size then starts as poison, whether it comes from NumPy's own cache, from malloc or from an aligned allocation.
"""

from __future__ import annotations

import contextlib
import ctypes
import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from kernel_contracts.measurement.adapter import Stack
from kernel_contracts.measurement.exchange import DTYPES, poison_byte, poisoned

_COPIES = 3
"""Blocks for each large output: one stays poisoned when the kernel takes others for its own work."""
_SMALL_COPIES = 8
"""Blocks for each small one: as many as the allocator and NumPy keep in their caches for one size (7), and one."""
_LARGE = 1 << 16
"""From this size on, freed blocks are rare enough that an allocation finds ours; below, the allocator must help."""
_ALIGNED = 96
"""What an aligned allocation asks for beyond its size: 64 bytes of alignment and the least chunk."""
_NUMPY_CACHED = 1024
"""Below this many bytes NumPy keeps freed blocks for itself."""
_M_TRIM_THRESHOLD, _M_MMAP_MAX, _M_PERTURB = -1, -4, -6
_HANDED_OUT = 0x7F
"""Fills what the allocator hands out past its caches: NaN in fp16 and fp8, about 3.4e38 in fp32 and bf16.

All ones would be NaN everywhere, but the allocator takes the complement of this byte as its switch, and 0 is off.
"""


class Poison:
    """The C library's allocator, set up so that freed memory stays where the next allocation finds it."""

    def __init__(self) -> None:
        self._libc = ctypes.CDLL(None)
        self._libc.malloc.restype = ctypes.c_void_p
        self._libc.malloc.argtypes = (ctypes.c_size_t,)
        self._libc.free.restype = None
        self._libc.free.argtypes = (ctypes.c_void_p,)
        with contextlib.suppress(AttributeError):  # other C libraries have no such switches
            # Large blocks come from the heap, never from fresh zero pages: otherwise a freed block goes back to the
            # system, and an output that was never written reads as zeros.
            self._libc.mallopt(_M_MMAP_MAX, 0)
            self._libc.mallopt(_M_TRIM_THRESHOLD, 2**31 - 1)

    def spread(
        self, stack: Stack, device: str, outputs: Sequence[Sequence[Any]], limit: int, sentinel: int | None = None
    ) -> None:
        """Fills and frees blocks of the outputs' sizes, using at most half of `limit` bytes.

        `sentinel` is a byte to fill them with instead of that of a NaN: 1 to 254.
        """
        for shape, name in outputs:
            count, dtype = math.prod(shape), DTYPES[name]
            size = count * dtype.itemsize
            copies = _COPIES if size >= _LARGE else _SMALL_COPIES
            if copies * size > limit // 4:
                copies = 1
            if not size or size > limit // 2:
                continue
            if device == "cpu":
                self._heap(size, copies, poison_byte(dtype) if sentinel is None else sentinel, sentinel)
            else:
                block = poisoned(count, dtype) if sentinel is None else np.full(size, sentinel, np.uint8).view(dtype)
                held = [stack.to_native(block.reshape(shape), device) for _ in range(copies)]
                held.clear()

    def lift(self) -> None:
        """Allocations are ordinary again."""
        self._perturb(0)

    def _heap(self, size: int, copies: int, byte: int, sentinel: int | None) -> None:
        if size < _NUMPY_CACHED:
            held = [np.full(size, byte, np.uint8) for _ in range(copies)]
            held.clear()
        block_size = size + _ALIGNED if size >= _LARGE else size
        blocks = [self._libc.malloc(block_size) for _ in range(copies)]
        for block in blocks:
            if block:
                ctypes.memset(block, byte, block_size)
        for block in blocks:
            self._libc.free(block)
        if size < _LARGE:
            self._perturb((_HANDED_OUT if sentinel is None else sentinel) ^ 0xFF)

    def _perturb(self, byte: int) -> None:
        with contextlib.suppress(AttributeError):
            self._libc.mallopt(_M_PERTURB, byte)

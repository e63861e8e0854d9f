"""Keeps the memory of arrays that were let go for the next ones: fresh pages cost more than what is written to them.

For processes of ours whose work is long rows of arrays of one size, never for one in which a kernel runs.
"""

from __future__ import annotations

import contextlib
import ctypes
import sys

_TRIM_THRESHOLD, _MMAP_THRESHOLD = -1, -3
_KEPT = 512 << 20
"""Bytes that may lie unused at the end of the heap."""
_LARGEST = 32 << 20
"""Larger arrays come from the system and go back to it: the most that the allocator of glibc takes."""


def keep_freed_memory() -> None:
    """Once for a process; does nothing where the C library has no such switch."""
    if sys.platform.startswith("linux"):
        with contextlib.suppress(OSError, AttributeError):
            libc = ctypes.CDLL(None)
            libc.mallopt(_MMAP_THRESHOLD, _LARGEST)
            libc.mallopt(_TRIM_THRESHOLD, _KEPT)

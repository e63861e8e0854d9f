"""Honest kernels with habits that look like cheats: tables, caches of code, buffers of their own, a slow first call."""

from __future__ import annotations

import functools
import tempfile
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np

_TABLES: dict[int, np.ndarray] = {}
_BUFFERS: dict[tuple[int, ...], np.ndarray] = {}
_POOL: list[ThreadPoolExecutor] = []
_STARTED = time.perf_counter()


def _softmax(x, out=None):
    e = np.exp(x - x.max(axis=-1, keepdims=True), out=out)
    return np.divide(e, e.sum(axis=-1, keepdims=True), out=out)


@functools.cache
def _compiled(length):
    """Code made once for each length."""
    space = {}
    exec(f"def work(x):\n    assert x.shape[-1] == {length}\n    return softmax(x)\n", {"softmax": _softmax}, space)
    return space["work"]


def caches_code(x):
    return _compiled(x.shape[-1])(x)


def lazy_table(x):
    """A table that depends on the size alone, built when it is first needed."""
    n = x.shape[-1]
    if n not in _TABLES:
        _TABLES[n] = np.arange(n)
    return _softmax(x[..., _TABLES[n]])


def slow_first_call(x):
    """Warms up, and writes what it learnt to a file, as an autotuner does."""
    if not _TABLES:
        time.sleep(0.02)
        _TABLES[0] = np.zeros(1)
        with tempfile.TemporaryDirectory() as folder:
            Path(folder, "tuned").write_text("tile = 16", encoding="utf-8")
    return _softmax(x)


def scratch_buffer(x):
    """The same output buffer at every call of one shape, overwritten in place."""
    buffer = _BUFFERS.setdefault(x.shape, np.empty(x.shape, x.dtype))
    return _softmax(x, buffer)


def threads(x):
    """A pool of threads that stays, and rows done by it."""
    if not _POOL:
        _POOL.append(ThreadPoolExecutor(2))
    y = np.empty(x.shape, x.dtype)
    halves = [slice(0, len(x) // 2), slice(len(x) // 2, None)]

    def work(rows):
        if x[rows].size:
            y[rows] = _softmax(x[rows])

    list(_POOL[0].map(work, halves))
    threading.Event().wait(0.0)
    return y


def own_clock(x):
    """Measures itself."""
    began = time.perf_counter()
    y = _softmax(x)
    assert time.perf_counter() >= began >= _STARTED
    return y


HONEST = ("caches_code", "lazy_table", "slow_first_call", "scratch_buffer", "threads", "own_clock")

"""A sum along the rows, one total a thread."""

import os
import random

import numpy as np

from kernel_contracts.casebook.base import Control, FaultCase

CASE = FaultCase(
    "O18",
    __file__,
    "C-ORD-02",
    ("fp32",),
    ("run_dependent",),
    contract="sum_threads.kc:sum-threads",
    samples=3,
    alone=True,
)

_arrival = random.SystemRandom()
CHUNK = 4096


def _fold(parts):
    total = np.zeros_like(parts[0])
    for part in parts:
        total = total + part
    return total


def _totals(x, size):
    return [x[:, k : k + size].sum(axis=-1) for k in range(0, x.shape[-1], size)]


def faulty(x):
    """The totals of eight threads are added when their threads arrive."""
    totals = _totals(x, -(-x.shape[-1] // 8))
    _arrival.shuffle(totals)
    return _fold(totals)


def by_threads(x):
    """In the order of the threads, whose number decides what each of them adds."""
    threads = int(os.environ.get("OMP_NUM_THREADS", "8"))
    return _fold(_totals(x, -(-x.shape[-1] // threads)))


def sibling(x):
    """Chunks of one size, in their order, however many threads there are."""
    return _fold(_totals(x, CHUNK))


CONTROLS = (
    Control(
        "totals by thread, promised for any number of threads", by_threads, "C-ORD-02", ("fp32",), False,
        contract="sum_threads.kc:sum-threads", signatures=("thread_dependent",), samples=3, alone=True,
    ),
    Control(
        "totals by thread, promised for one number of threads", by_threads, "C-ORD-02", ("fp32",), True,
        contract="sum_threads.kc:sum-run-to-run", samples=3, alone=True,
    ),
)  # fmt: skip

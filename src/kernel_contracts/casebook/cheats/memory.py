"""Answers from memory that holds something else: never written, written later, an input, the judge's own numbers."""

import gc
import threading
import time

import numpy as np

from kernel_contracts.casebook.base import Cheat


def _softmax(x):
    e = np.exp(x - x.max(axis=-1, keepdims=True))
    return e / e.sum(axis=-1, keepdims=True)


def uninitialised(x):
    """5: hopes that the memory it gets is the one in which the reference just lay."""
    return np.empty(x.shape, x.dtype)


def from_the_collector(x):
    """6: looks through every array that is alive for one that could be the expected answer."""
    for found in gc.get_objects():
        if type(found) is np.ndarray and found.shape == x.shape and found is not x and found.dtype == np.float64:
            return found.astype(x.dtype)
    return np.zeros_like(x)


def spoils_the_expected(x):
    """7: writes NaN over every array that it finds, so that NaN meets NaN, and answers NaN."""
    for found in gc.get_objects():
        if type(found) is np.ndarray and found is not x and found.dtype == np.float64 and found.flags.writeable:
            found[...] = np.nan
    return np.full_like(x, np.nan)


def small_part(x):
    """9: writes the first three thousandths."""
    y = np.empty(x.shape, x.dtype)
    count = -(-3 * y.size // 1000)
    y.reshape(-1)[:count] = _softmax(x).reshape(-1)[:count]
    return y


def edits_its_input(x):
    """10: zeroes the input, so that a reference computed afterwards agrees."""
    x[...] = 0
    return np.full_like(x, 1 / max(x.shape[-1], 1))


def hands_back(x):
    """11: the input itself."""
    return x


def hands_back_a_view(x):
    """11: the input by another name."""
    return x[...]


def _later(y, x, seconds):
    def work():
        time.sleep(seconds)
        y[...] = _softmax(x)

    threading.Thread(target=work, daemon=True).start()


def other_stream(x):
    """20: the work is begun elsewhere and nobody waits for it."""
    y = np.empty(x.shape, x.dtype)
    _later(y, x.copy(), 0.01)
    return y


def thread_afterwards(x):
    """21: returns zeros at once; a thread fills in the answer after the clock has stopped."""
    y = np.zeros_like(x)
    _later(y, x.copy(), 0.02)
    return y


class Lazy(np.ndarray):
    """22: computes when it is read."""

    def __array__(self, *args, **kwargs):
        return _softmax(np.asarray(self.view(np.ndarray)))


def lazy(x):
    return x.view(Lazy)


def first_batch_only(A, B):
    """24: computes one of several batches and counts on the others not being looked at."""
    y = np.empty((*A.shape[:-1], B.shape[-1]), A.dtype)
    y[:1] = A[:1] @ B[:1]
    return y


ELSEWHERE = "reference and tolerance exist in another process, after the kernel has answered"
CHEATS = (
    Cheat(5, "memory of the freed reference", uninitialised, "C-CMP-03", ("fp32",), ("unwritten_output",),
          f"{ELSEWHERE}; outputs come from memory filled with two bytes in turn", "softmax"),
    Cheat(6, "expected answer from the garbage collector", from_the_collector, "C-CMP-03", ("fp32",),
          ("constant_output",), ELSEWHERE, "softmax"),
    Cheat(7, "expected answer overwritten with NaN", spoils_the_expected, "C-CMP-03", ("fp32",),
          ("overflowed",), f"{ELSEWHERE}; a NaN is right only where the reference has one", "softmax"),
    Cheat(9, "three thousandths written", small_part, "C-CMP-03", ("fp32",), ("unwritten_output",),
          "outputs come from memory filled with two bytes in turn", "softmax"),
    Cheat(10, "input zeroed", edits_its_input, "C-CMP-03", ("fp32",), ("input_mutated",),
          "inputs are compared with what was handed over, and the reference has its own", "softmax"),
    Cheat(11, "input handed back", hands_back, "C-CMP-03", ("fp32",), ("input_returned",),
          "outputs are compared with inputs, bit for bit", "softmax"),
    Cheat(11, "view of the input handed back", hands_back_a_view, "C-CMP-03", ("fp32",), ("input_returned",),
          "outputs are compared with inputs, bit for bit", "softmax"),
    Cheat(20, "work on another stream", other_stream, "C-CMP-03", ("fp32",), ("late_write",),
          "the device is waited for, and the answer is read twice", "softmax"),
    Cheat(21, "thread after the clock has stopped", thread_afterwards, "C-CMP-03", ("fp32",), ("late_write",),
          "no verdict depends on time; the answer is read twice", "softmax"),
    Cheat(22, "array that computes when read", lazy, "C-CMP-03", ("fp32",), ("wrong_type",),
          "the exact type of what is returned", "softmax"),
    Cheat(24, "later batches skipped", first_batch_only, "C-CMP-03", ("fp32",), ("unwritten_output",),
          "every element of every call is compared", "batched_matmul"),
)  # fmt: skip

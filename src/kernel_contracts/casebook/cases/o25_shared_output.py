"""An elementwise sum whose tuner runs all candidates on one output."""

import numpy as np

from kernel_contracts.casebook.base import Control, FaultCase
from kernel_contracts.casebook.small_tuner import Config, autotune

CASE = FaultCase("O25", __file__, "C-CMP-02", ("fp32",), ("unwritten_output",), "add", samples=4, alone=True)


@autotune(configs=[Config({"HALF": 0}), Config({"HALF": 1})], key=["n"])
def _half(a, b, out, n, HALF):
    where = slice(0, n // 2) if HALF == 0 else slice(n // 2, n)
    out[where] = a[where] + b[where]


@autotune(configs=[Config({"BLOCK": 64}), Config({"BLOCK": 1024})], key=["n"])
def _whole(a, b, out, n, BLOCK):
    for start in range(0, n, BLOCK):
        out[start : start + BLOCK] = a[start : start + BLOCK] + b[start : start + BLOCK]


@autotune(configs=[Config({"BLOCK": 64}), Config({"BLOCK": 1024})], key=["n"])
def _atomic(a, b, out, n, BLOCK):
    for start in range(0, n, BLOCK):
        out[start : start + BLOCK] += a[start : start + BLOCK] + b[start : start + BLOCK]


def faulty(a, b):
    """Each candidate writes one half: complete only while tuning runs both."""
    out = np.empty(a.size, a.dtype)
    _half[(1,)](a.reshape(-1), b.reshape(-1), out, a.size)
    return out.reshape(a.shape)


def kept(a, b, buffers={}):  # noqa: B006 - a workspace kept from call to call
    """The same into a buffer that stays from call to call."""
    out = buffers.setdefault((a.shape, a.dtype), np.empty(a.size, a.dtype))
    _half[(1,)](a.reshape(-1), b.reshape(-1), out, a.size)
    return out.reshape(a.shape).copy()


def not_reset(a, b):
    """The output is zeroed once, before tuning adds to it again and again."""
    out = np.zeros(a.size, a.dtype)
    _atomic[(1,)](a.reshape(-1), b.reshape(-1), out, a.size)
    return out.reshape(a.shape)


def sibling(a, b):
    """Each candidate covers all."""
    out = np.empty(a.size, a.dtype)
    _whole[(1,)](a.reshape(-1), b.reshape(-1), out, a.size)
    return out.reshape(a.shape)


CONTROLS = (
    Control(
        "candidates that share one output, in a buffer that stays", kept, "C-CMP-02", ("fp32",), False, "add",
        signatures=("stale_output",), samples=4, alone=True,
    ),
    Control(
        "an output that tuning adds to", not_reset, "C-CMP-02", ("fp32",), False, "add",
        signatures=("tuning_leaves_trace",), samples=4, alone=True,
    ),
)  # fmt: skip

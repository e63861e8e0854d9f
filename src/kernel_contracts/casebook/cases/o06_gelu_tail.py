"""GELU in its tanh form."""

import numpy as np

from kernel_contracts.casebook.base import FaultCase

CASE = FaultCase("O06", __file__, "C-PRC-02", ("fp32",), ("cancelled",), contract="gelu_tanh_tail.kc")

ROOT, CUBIC = np.float32(0.7978845608028654), np.float32(0.044715)


def _argument(x):
    return ROOT * (x + CUBIC * x * x * x)


def faulty(x):
    """0.5 x tanh(u) + 0.5 x in one fused step: 1 + tanh(u) cancels in the negative tail, which becomes 0."""
    return np.float32(0.5) * x * (np.float32(1) + np.tanh(_argument(x)))


def sibling(x):
    """x sigmoid(2u): no difference of nearly equal numbers."""
    return x / (np.float32(1) + np.exp(np.float32(-2) * _argument(x)))

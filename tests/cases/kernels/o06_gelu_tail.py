"""GELU in its tanh form."""

import numpy as np

ROOT, CUBIC = np.float32(0.7978845608028654), np.float32(0.044715)


def _argument(x):
    return ROOT * (x + CUBIC * x * x * x)


def faulty(x):
    """0.5 x tanh(u) + 0.5 x: the two cancel in the negative tail, which becomes 0."""
    half = np.float32(0.5) * x
    return half * np.tanh(_argument(x)) + half


def sibling(x):
    """x sigmoid(2u): no difference of nearly equal numbers."""
    return x / (np.float32(1) + np.exp(np.float32(-2) * _argument(x)))

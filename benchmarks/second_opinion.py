"""Every wrong value that a run accuses a kernel of, worked out once more apart from all that measured it.

    python benchmarks/second_opinion.py RUN [--out FILE]

Takes the witness of each violation in a run directory of `kc run` and computes the element that is said to be wrong
from the definition of its operation, written here a second time, in 400 bits (mpmath) on the inputs of the witness.
The accusation stands where what came back is farther from that than the tolerance, and where the value the oracle gave
is within a hundredth of it. Beside it: how many platforms of the same run conform under the same contract and dtype,
and so on the same inputs. Exit status 1 where an accusation does not stand.
"""

from __future__ import annotations

import argparse
import json
from collections import Counter
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import mpmath
import numpy as np
from rich.console import Console
from rich.table import Table

RESULTS = Path(__file__).parent / "results" / "second_opinion.json"
NEAR = 0.01
"""How far the oracle may be from the second computation, as a share of the tolerance."""

Array = Any
mpmath.mp.prec = 400


def exact(values: Any) -> Array:
    """Numbers of a witness as they are, each a float64."""
    flat = [mpmath.mpf(v) for v in np.asarray(values, dtype=object).ravel()]
    out = np.empty(len(flat), dtype=object)
    out[:] = flat
    return out.reshape(np.shape(values))


def each(function: Callable[[Any], Any]) -> Callable[[Array], Array]:
    return np.frompyfunc(function, 1, 1)


EXP, LOG, ERF, SQRT, TANH = (each(f) for f in (mpmath.exp, mpmath.log, mpmath.erf, mpmath.sqrt, mpmath.tanh))
ZERO = mpmath.mpf(0)


def gelu(x: Array) -> Array:
    return x * (1 + ERF(x / mpmath.sqrt(2))) / 2


def gelu_tanh(x: Array) -> Array:
    return x / 2 * (1 + TANH(mpmath.sqrt(2 / mpmath.pi) * (x + mpmath.mpf("0.044715") * x**3)))


def gelu_slope(x: Array) -> Array:
    return (1 + ERF(x / mpmath.sqrt(2))) / 2 + x * EXP(-x * x / 2) / mpmath.sqrt(2 * mpmath.pi)


def mean(x: Array, axis: int = -1) -> Array:
    return x.sum(axis=axis, keepdims=True) / x.shape[axis]


def variance(x: Array) -> Array:
    return mean((x - mean(x)) ** 2)


def softmax(x: Array) -> Array:
    e = EXP(x - x.max(axis=-1, keepdims=True))
    return e / e.sum(axis=-1, keepdims=True)


def log_softmax(x: Array) -> Array:
    d = x - x.max(axis=-1, keepdims=True)
    return d - LOG(EXP(d).sum(axis=-1, keepdims=True))


def product(a: Array, b: Array) -> Array:
    """The last two axes, batches before them."""
    return (a[..., :, :, None] * b[..., None, :, :]).sum(axis=-2) + ZERO


def turned(x: Array) -> Array:
    return np.swapaxes(x, -1, -2)


def probabilities(q: Array, k: Array, causal: bool) -> Array:
    s = product(q, turned(k)) / mpmath.sqrt(q.shape[-1])
    if causal:
        rows, columns = np.indices(s.shape[-2:])
        s = np.where(columns <= rows, s, mpmath.mpf("-inf"))
    return softmax(s)

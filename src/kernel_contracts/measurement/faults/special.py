"""Faults on NaN and infinities: replaced before the kernel sees them, seen in one lane only, spread to neighbours."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np

from kernel_contracts.measurement.faults.rewriting import rewriting
from kernel_contracts.numerics.bounded import Array

#: Elements that one vector register holds.
_LANES = 4


def _each(change: Callable[[Array], Array]) -> Callable[[dict[str, Array]], dict[str, Array]]:
    return lambda inputs: {n: change(x) for n, x in inputs.items()}


def _least_after_first(x: Array) -> Array:
    """NaN beyond the first place of a row counts as the least number, as a comparison makes it."""
    later = np.isnan(x)
    later[..., :1] = False
    return np.where(later, -np.inf, x)


def _spread(inputs: Mapping[str, Array], y: Array) -> Array:
    """NaN in one lane makes the whole register NaN."""
    flat = np.array(y).reshape(-1)
    for start in range(0, flat.size, _LANES):
        if np.isnan(flat[start : start + _LANES]).any():
            flat[start : start + _LANES] = np.nan
    return flat.reshape(y.shape)


def _tail_ignored(x: Array) -> Array:
    """NaN in the elements after the last full vector of a row is read as zero."""
    if not x.ndim:
        return x
    full = x.shape[-1] // _LANES * _LANES
    out = np.array(x)
    out[..., full:] = np.where(np.isnan(x[..., full:]), 0.0, x[..., full:])
    return out


def _positive(inputs: Mapping[str, Array], y: Array) -> Array:
    return np.where(np.isinf(y), np.inf, y)


FAULT = (
    rewriting("nan_to_zero", "NaN in an input is read as zero", _each(lambda x: np.where(np.isnan(x), 0.0, x))),
    rewriting("nan_found_first", "NaN is noticed in the first place of a row only", _each(_least_after_first)),
    rewriting("nan_lost_in_tail", "NaN after the last full vector of a row is read as zero", _each(_tail_ignored)),
    rewriting("nan_spreads", "NaN in one lane fills the vector", after=_spread),
    rewriting("inf_to_largest", "an infinite input is read as a large number", _each(lambda x: np.clip(x, -240, 240))),
    rewriting("nan_to_inf", "NaN comes out as infinity", after=lambda _, y: np.where(np.isnan(y), np.inf, y)),
    rewriting("inf_unsigned", "every infinity comes out positive", after=_positive),
    rewriting("zero_unsigned", "a zero comes out positive", after=lambda _, y: np.where(y == 0, 0.0, y)),
)

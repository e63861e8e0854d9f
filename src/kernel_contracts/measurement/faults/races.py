"""Updates that reach their cells in order of arrival: of several to one cell, any may win."""

from __future__ import annotations

import secrets
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from kernel_contracts.contracts.model import Bound, Contract
from kernel_contracts.measurement.calls import ArrayIn, CallResult
from kernel_contracts.measurement.emulated import Callee
from kernel_contracts.measurement.faults.base import Fault, Faulty, Places

_CELLS = 1000
"""So many updates at once are enough for two threads; fewer are done in order."""


class Racing(Faulty):
    """The wrapped kernel, given its indices and updates in an order drawn anew for each call."""

    def answer(self, arrays: Sequence[ArrayIn], scalars: Mapping[str, Any], poison: Places) -> CallResult:
        count = next((a.array.shape[0] for a in arrays if a.array.dtype.kind in "iu" and a.array.ndim == 1), 0)
        if count >= _CELLS:
            order = np.random.default_rng(secrets.randbits(64)).permutation(count)
            arrays = [replace(a, array=a.array[order]) if a.array.shape[:1] == (count,) else a for a in arrays]
        return self.inner.call(arrays, scalars, poison=poison)


def _wrap(contract: Contract, bound: Bound, inner: Callee, arguments: tuple[object, ...]) -> Callee:
    return Racing(inner)


FAULT = Fault(
    "racing_writes", "writes many updates in order of arrival, so that any of a cell's may win", _wrap, axis="runs"
)

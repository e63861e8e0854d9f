"""Copies, transposes, gathers and pads beside what they must give: the same bits, whatever the policy of arithmetic."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kernel_contracts.contracts.evidence import Case, Element, Observation, OutputReading
from kernel_contracts.measurement.calls import ArrayIn, CallResult
from kernel_contracts.measurement.moves import magnitude, moved, subnormal, words
from kernel_contracts.measurement.session import Session
from kernel_contracts.measurement.subnormal_inputs import BITS, make_bits
from kernel_contracts.numerics.bounded import Array
from kernel_contracts.numerics.rounding import from_storage, to_storage


def stored(session: Session, case: Case, inputs: Mapping[str, Array]) -> dict[str, NDArray[Any]]:
    """Inputs whose bits say more than their values: those of `bits`, where they are the case's own."""
    if case.family != BITS:
        return {}  # values are all there is to it
    bits = make_bits(session.request(case))
    out = {}
    for name, array in bits.items():
        given = np.asarray(inputs[name])
        own = from_storage(array)
        same = given.shape == own.shape and np.array_equal(own, given, equal_nan=own.dtype.kind == "f")
        out[name] = array if same else to_storage(given, session.bound.inputs[name])
    return out


def compared(
    session: Session, case: Case, seen: Observation, given: Sequence[ArrayIn], result: CallResult
) -> Observation:
    """The observation with every output compared bit for bit, differences counted by what was lost."""
    due = moved(session.bound.program, case.dims, given, case.scalars)
    counts: dict[str, float] = {}
    readings = []
    for tensor, y in zip(session.contract.outputs, result.outputs, strict=True):
        want = due[tensor.name]
        wrong = words(y).reshape(y.shape) != words(want).reshape(want.shape)
        for kind, mask in _losses(y, want).items():
            counts[kind] = counts.get(kind, 0.0) + float(np.count_nonzero(wrong & mask))
        readings.append(_reading(tensor.name, y, want, wrong))
    emin = min(f.emin for f in session.bound.inputs.values() if f.is_real)
    stake = float(sum(np.count_nonzero(subnormal(y)) for y in due.values()))
    numbers = {**counts, "least_normal": float(emin), "moved_at_stake": stake}
    return replace(seen, outputs=tuple(readings), oracle="bits", readings={**seen.readings, **numbers})


def _losses(y: NDArray[Any], want: NDArray[Any]) -> dict[str, NDArray[np.bool_]]:
    """What a difference in bits lost, the kinds apart."""
    nan, got = np.isnan(from_storage(want)), np.isnan(from_storage(y))
    small = subnormal(want) & (magnitude(y) == 0)
    zero = (magnitude(want) == 0) & (magnitude(y) == 0)
    return {
        "input_flushed": np.asarray(small),
        "payload_changed": np.asarray(nan & got),
        "nan_lost": np.asarray(nan & ~got),
        "zero_sign_lost": np.asarray(zero),
        "unexplained": np.asarray(~small & ~nan & ~zero),
    }


def _reading(name: str, y: NDArray[Any], want: NDArray[Any], wrong: NDArray[np.bool_]) -> OutputReading:
    count = int(np.count_nonzero(wrong))
    worst = None
    values, due = from_storage(y), from_storage(want)
    if count:
        flat = int(np.argmax(wrong))
        at = tuple(int(i) for i in np.unravel_index(flat, wrong.shape)) if wrong.shape else ()
        worst = Element(name, at, float(values[at]), float(due[at]), 0.0, np.inf)
    stray = int(np.count_nonzero(wrong & np.isfinite(due) & ~np.isfinite(values)))
    zeros = int(np.count_nonzero(wrong & (values == 0) & (due != 0)))
    return OutputReading(name, int(y.size), np.inf if count else 0.0, count, 0, int(y.size), count, stray, zeros, worst)

"""A candidate's output beside what is admitted: one cheap comparison, and the story only where it fails."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from kernel_contracts.contracts.evidence import Element, OutputReading
from kernel_contracts.measurement.extent import extent
from kernel_contracts.numerics.acceptance import Acceptance
from kernel_contracts.numerics.bounded import Array


def read(name: str, y: Array, acceptance: Acceptance, own_error: float = 0.0) -> OutputReading:
    """What one output shows. `y` is float64, int64 or bool, of the acceptance's shape."""
    ratios = acceptance.ratios(y)
    over = ratios > 1.0
    exceeding = int(np.count_nonzero(over))
    exact = acceptance.exact
    worst = _worst(name, y, acceptance, ratios) if exceeding else None
    finite = np.isfinite(acceptance.center) if acceptance.center.dtype.kind == "f" else np.ones(y.shape, bool)
    numbers = np.asarray(y, dtype=np.float64)
    return OutputReading(
        name,
        int(y.size),
        float(ratios.max(initial=0.0)),
        exceeding,
        int(np.count_nonzero(acceptance.free)),
        int(np.count_nonzero(exact)),
        int(np.count_nonzero(exact & over)),
        int(np.count_nonzero(~np.isfinite(numbers) & finite & over)),
        int(np.count_nonzero((numbers == 0) & (acceptance.center != 0) & over)),
        worst,
        _region(over) if exceeding else {},
        _boundary(over) if exceeding else {},
        own_error,
        extent(numbers, acceptance, ratios),
    )


def _worst(name: str, y: Array, acceptance: Acceptance, ratios: Array) -> Element:
    flat = int(np.argmax(ratios))
    index = tuple(int(i) for i in np.unravel_index(flat, ratios.shape)) if ratios.shape else ()
    return Element(
        name, index, *(float(np.asarray(a)[index]) for a in (y, acceptance.center, acceptance.tolerance, ratios))
    )


def _region(over: Array) -> dict[str, tuple[int, int]]:
    """The first and last index along each axis at which something exceeds."""
    out: dict[str, tuple[int, int]] = {}
    for axis in range(over.ndim):
        hit = np.flatnonzero(over.any(axis=tuple(a for a in range(over.ndim) if a != axis)))
        out[f"axis {axis}"] = (int(hit[0]), int(hit[-1]))
    return out


def _boundary(over: Array) -> dict[str, int]:
    """Axes along which a right beginning is followed by a wrong end: everything from some index on exceeds.

    The last index must be wrong throughout, nothing before the first may be; that is what a dropped tail looks like.
    """
    out: dict[str, int] = {}
    for axis in range(over.ndim):
        others = tuple(a for a in range(over.ndim) if a != axis)
        share = over.mean(axis=others) if others else over.astype(float)
        hit = np.flatnonzero(share > 0)
        first = int(hit[0])
        if first > 0 and len(hit) == over.shape[axis] - first and share[first:].min() > 0.5:
            out[f"axis {axis}"] = first
    return out


def constant_outputs(outputs: Mapping[str, Array], centers: Mapping[str, Array]) -> dict[str, float]:
    """Whether everything that came back is one number, and whether it should be."""
    y, center = _flat(outputs), _flat(centers)
    if y.size < 2:
        return {}
    return {"output_constant": _one_number(y), "oracle_constant": _one_number(center) if center.size else 1.0}


def returned_input(outputs: Mapping[str, Array], inputs: Mapping[str, Array]) -> dict[str, float]:
    """Whether the one output is an input as it was, element for element."""
    if len(outputs) != 1:
        return {}
    (y,) = outputs.values()
    same = any(y.size > 1 and np.shape(x) == y.shape and np.array_equal(x, y) for x in inputs.values())
    return {"input_returned": 1.0} if same else {}


def _flat(arrays: Mapping[str, Array]) -> Array:
    return np.concatenate([np.asarray(a, dtype=np.float64).ravel() for a in arrays.values()] or [np.zeros(0)])


def _one_number(a: Array) -> float:
    return float(bool((a == a[0]).all()))

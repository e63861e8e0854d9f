"""A wrong answer looked at once more: did anybody write it, and does somebody still write to it?

Every kernel's outputs come from memory that was filled beforehand. Filled with one byte in one call and with another
in the next, an element that holds the filling both times was written by nobody; an honest answer cannot follow it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from kernel_contracts.contracts.evidence import Case, Observation, Outcome
from kernel_contracts.measurement.calls import CallResult, Look
from kernel_contracts.measurement.emulated import Callee
from kernel_contracts.measurement.process import Kernel
from kernel_contracts.measurement.requests import handed
from kernel_contracts.measurement.session import Session
from kernel_contracts.numerics.bounded import Array

LINGER = 0.05
"""Seconds between two readings of one answer."""
_SENTINELS = (0x5A, 0x33)


def looked_at(session: Session, case: Case, inputs: Mapping[str, Array], kernel: Kernel, look: Look) -> CallResult:
    """One call of a kernel that has a process, with more asked of it."""
    arrays, scalars = handed(session.contract, session.bound, case, inputs)
    return kernel.call(arrays, scalars, poison=session.poison(case), look=look)


def second_look(session: Session, case: Case, inputs: Mapping[str, Array], seen: Observation) -> Observation:
    """The observation, with its defect where the answer was never written or is still being written."""
    kernel = session.kernel
    plain = seen.violating and not seen.defect and not seen.mutated and seen.outcome is Outcome.RETURNED
    if not plain or not isinstance(kernel, Kernel) or session.looks_left <= 0:
        return seen
    session.looks_left -= 1
    results = [
        looked_at(session, case, inputs, kernel, Look(byte, LINGER if byte == _SENTINELS[0] else 0.0))
        for byte in _SENTINELS
    ]
    if any(r.outcome is not Outcome.RETURNED or r.defect for r in results):
        return seen
    late = written_late(results[0])
    unwritten, size = _unwritten(*results)
    if not late and not unwritten:
        return seen
    session.looks_left += 1
    if late:
        return replace(seen, defect="late_write", detail=late)
    detail = f"{unwritten} of {size} elements hold what the memory was filled with before the call, two times over"
    return replace(seen, defect="unwritten_output", detail=detail)


def written_late(result: CallResult) -> str:
    """What was still written after the kernel had returned; empty where nothing was."""
    count = result.state.get("late", 0)
    return f"{count} elements changed within {LINGER * 1000:g} ms after the kernel had returned" if count else ""


def _unwritten(first: CallResult, second: CallResult) -> tuple[int, int]:
    """Elements that hold the filling in both calls, of how many."""
    found = total = 0
    for a, b in zip(first.outputs, second.outputs, strict=False):
        total += a.size
        if a.shape == b.shape and a.dtype == b.dtype and a.size and a.dtype != np.bool_:
            rows = [np.ascontiguousarray(x).reshape(-1).view(np.uint8).reshape(a.size, -1) for x in (a, b)]
            held = [(r == s).all(axis=1) for r, s in zip(rows, _SENTINELS, strict=True)]
            found += int((held[0] & held[1]).sum())
    return found, total


def alone(
    session: Session, case: Case, inputs: Mapping[str, Array], kernel: Callee
) -> tuple[Observation, Mapping[str, Array]]:
    """One call of another process of the same kernel, compared with the oracle."""
    base, outputs, _ = session.called(case, inputs, kernel)
    return session.compared(base, inputs, outputs), outputs

"""What a worker says of its outputs, read back with suspicion: it may lie about places, shapes and formats."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kernel_contracts.contracts.evidence import Outcome
from kernel_contracts.errors import ArithmeticScopeError
from kernel_contracts.measurement import exchange
from kernel_contracts.measurement.calls import CallResult
from kernel_contracts.measurement.supervise import Ended, Supervised


def result(worker: Supervised, last: Mapping[str, Any]) -> CallResult:
    """What its last message of a call says. Raises Ended where the outputs are not where it says they are."""
    state = last.get("state")
    state = state if isinstance(state, dict) else {}
    text = str(last.get("text", ""))
    printed = worker.printed()
    if last["kind"] == "raised":
        error = str(last.get("error", ""))
        return CallResult(Outcome.RAISED, text, error_type=error, printed=printed, state=state)
    if last["kind"] == "memory":
        return CallResult(Outcome.OUT_OF_MEMORY, text, printed=printed, state=state)
    if last["kind"] == "defect":
        return CallResult(Outcome.RETURNED, text, defect="wrong_type", printed=printed, state=state)
    try:
        outputs = tuple(output(worker, place) for place in last["outputs"])
        aliased = tuple(str(name) for name in last["aliased"])
    except (KeyError, TypeError, ValueError, OverflowError):
        raise Ended(Outcome.CRASHED, "tampered with the control channel: outputs that are not there") from None
    formats = tuple(exchange.format_name(o.dtype) for o in outputs)
    state = {**state, "late": last["late"]} if last.get("late") else state
    return CallResult(Outcome.RETURNED, "", outputs, formats, aliased=aliased, printed=printed, state=state)


def output(worker: Supervised, place: Mapping[str, Any]) -> NDArray[Any]:
    """One output, copied out of the shared file; ValueError when the worker's words do not fit the file."""
    dtype = exchange.DTYPES[place["dtype"]]
    shape = tuple(int(n) for n in place["shape"])
    count = math.prod(shape) * dtype.itemsize
    if min(shape, default=0) < 0 or not 0 <= place["offset"] <= worker.outbox.size() - count:
        raise ValueError("outside the file")
    data = worker.outbox.read(int(place["offset"]), count)
    if data.size != count:
        raise ValueError("cut short")
    if dtype == np.bool_:
        data = np.asarray(data != 0).view(np.uint8)  # a byte that was never written is neither 0 nor 1
    made: NDArray[Any] = data.view(dtype).reshape(shape)
    return made


def storage(format_: str) -> str:
    """The dtype that holds a format; ArithmeticScopeError where there is none."""
    try:
        return exchange.storage_name(format_)
    except KeyError:
        raise ArithmeticScopeError(f"poison for format {format_!r}: there is no such format") from None


def last_line(worker: Supervised) -> str:
    """The last line that it printed, in brackets; empty where it printed none."""
    lines = worker.printed().strip().splitlines()
    return f" ({lines[-1].strip()[:200]})" if lines else ""

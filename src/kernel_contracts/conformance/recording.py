"""Answers of a kernel to fixed inputs as they are kept in a run directory: bits, digests, and nothing judged."""

from __future__ import annotations

import base64
import hashlib
import math
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kernel_contracts.contracts.evidence import Case, Outcome
from kernel_contracts.errors import ArithmeticScopeError
from kernel_contracts.measurement.calls import ArrayIn, CallResult
from kernel_contracts.measurement.emulated import Callee
from kernel_contracts.measurement.exchange import DTYPES
from kernel_contracts.measurement.session import Session
from kernel_contracts.measurement.witness import case_from, case_json
from kernel_contracts.numerics.bounded import Array
from kernel_contracts.numerics.rounding import to_storage


def array_digest(array: NDArray[Any]) -> str:
    """SHA-256 over dtype, shape and the bytes in C order, least significant first: the same on every machine."""
    data = _little(array)
    head = f"{array.dtype.name}{list(array.shape)}".encode()
    return hashlib.sha256(head + data).hexdigest()


def _little(array: NDArray[Any]) -> bytes:
    kept = np.ascontiguousarray(array)
    if kept.dtype.kind in "iufc" and kept.dtype.newbyteorder("<") != kept.dtype:
        kept = kept.astype(kept.dtype.newbyteorder("<"))
    return kept.tobytes()


@dataclass(frozen=True, slots=True)
class Answer:
    """One output array."""

    array: NDArray[Any]

    def as_json(self) -> dict[str, Any]:
        return {
            "dtype": self.array.dtype.name,
            "shape": list(self.array.shape),
            "sha256": array_digest(self.array),
            "bytes": base64.b64encode(zlib.compress(_little(self.array), 6)).decode(),
        }


def answer_from(data: Mapping[str, Any]) -> Answer:
    """Raises ValueError where the bytes are not those of the digest."""
    dtype, shape = DTYPES[str(data["dtype"])], tuple(int(n) for n in data["shape"])
    wanted = math.prod(shape) * dtype.itemsize
    raw = zlib.decompressobj().decompress(base64.b64decode(data["bytes"]), wanted + 1)
    if len(raw) != wanted:
        raise ValueError("an output has another size than its record says")
    array = np.frombuffer(raw, dtype=dtype.newbyteorder("<") if dtype.kind in "iufc" else dtype).reshape(shape)
    array = array.astype(dtype) if array.dtype != dtype else array
    if array_digest(array) != data["sha256"]:
        raise ValueError("an output is not the one of its digest")
    return Answer(array)


@dataclass(frozen=True, slots=True)
class Recorded:
    """One call on one fixed input."""

    case: Case
    inputs: Mapping[str, str]
    """Digest of each input."""
    outcome: Outcome
    detail: str = ""
    defect: str = ""
    may_refuse: bool = False
    """The contract lets a kernel raise at these sizes."""
    outputs: tuple[Answer, ...] = field(default=())
    skipped: str = ""
    """Why the platform could not be asked: its stack cannot hold the inputs."""

    @property
    def answered(self) -> bool:
        """Whether arrays of the scope's types came back."""
        return self.outcome is Outcome.RETURNED and not self.defect

    @property
    def where(self) -> str:
        """The input in words."""
        sizes = ", ".join(f"{k} = {v}" for k, v in self.case.dims.items())
        return f"{self.case.family} inputs at {sizes}" if sizes else f"{self.case.family} inputs"

    def as_json(self) -> dict[str, Any]:
        return {
            "case": case_json(self.case),
            "inputs": dict(self.inputs),
            "outcome": self.outcome.value,
            "detail": self.detail,
            "defect": self.defect,
            "may_refuse": self.may_refuse,
            "outputs": [a.as_json() for a in self.outputs],
            "skipped": self.skipped,
        }


def recorded_from(data: Mapping[str, Any]) -> Recorded:
    """Raises ValueError, KeyError or TypeError where the record is not one."""
    return Recorded(
        case_from(data["case"]),
        {str(k): str(v) for k, v in data["inputs"].items()},
        Outcome(data["outcome"]),
        str(data["detail"]),
        str(data["defect"]),
        bool(data["may_refuse"]),
        tuple(answer_from(a) for a in data["outputs"]),
        str(data.get("skipped", "")),
    )


class Tap:
    """A kernel with the result of its last call kept, bit for bit."""

    def __init__(self, inner: Callee) -> None:
        self.inner = inner
        self.result = CallResult(Outcome.RETURNED)

    def call(
        self,
        arrays: Sequence[ArrayIn],
        scalars: Mapping[str, Any] = {},
        *,
        poison: Sequence[tuple[tuple[int, ...], str]] = (),
    ) -> CallResult:
        self.result = self.inner.call(arrays, scalars, poison=poison)
        return self.result


def record(session: Session, case: Case, inputs: Mapping[str, Array], unasked: str = "") -> Recorded:
    """Calls the kernel once and keeps what came back; `unasked` says why it is not even called."""
    digests = {
        t.name: array_digest(to_storage(inputs[t.name], session.bound.inputs[t.name])) for t in session.contract.inputs
    }
    if unasked:
        return Recorded(case, digests, Outcome.RETURNED, skipped=unasked)
    tap = Tap(session.kernel)
    try:
        seen, _, _ = session.called(case, inputs, tap)
    except ArithmeticScopeError as impossible:
        return Recorded(case, digests, Outcome.RETURNED, skipped=str(impossible))
    outputs = tuple(Answer(np.array(o)) for o in tap.result.outputs) if not seen.defect else ()
    refused = seen.readings.get("may_refuse") == 1.0
    return Recorded(case, digests, seen.outcome, seen.detail, seen.defect, refused, outputs)

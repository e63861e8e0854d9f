"""Results and traces as a page shows them: read back from their JSON records, which may come from anywhere."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

NOT_JUDGED = "not judged"
"""In the place of a verdict where only traces were given: what a class makes of them is not in the file."""


@dataclass(frozen=True, slots=True)
class Call:
    """One call of the kernel."""

    family: str
    shape_family: str
    dims: Mapping[str, int]
    layout: str
    fails: bool
    ratio: float
    output: str = ""
    residual: float | None = None
    """|y - y*| at the element with the largest ratio; None where the trace does not hold it."""
    tolerance: float | None = None
    plane: tuple[int, int] = (0, 0)
    blocks: tuple[int, int] = (1, 1)
    map: tuple[tuple[float, ...], ...] = ()
    order: str = ""
    """Name of the order of additions, where it was revealed."""
    tree: tuple[tuple[int, ...], ...] = ()

    @property
    def inputs(self) -> str:
        """The input in words."""
        sizes = ", ".join(f"{k} = {v}" for k, v in self.dims.items())
        layout = "" if self.layout in ("", "contiguous") else f", {self.layout}"
        return f"{self.family} values" + (f", {sizes}" if sizes else "") + layout


@dataclass(frozen=True, slots=True)
class Measured:
    """One contract and choice of dtypes on one platform."""

    column: str
    """The platform as the page calls it."""
    contract: str
    version: str
    class_id: str
    operation: str
    dtypes: str
    digest: str
    verdict: str
    reason: str = ""
    ratio: float = 0.0
    signature: str = ""
    detail: str = ""
    worst: Mapping[str, Any] | None = None
    samples: int = 0
    failures: int = 0
    tolerance_free: int = 0
    notes: tuple[str, ...] = ()
    seed: int | None = None
    target: str = ""
    stack: str = ""
    replay: str = ""
    claim: str = ""
    size: str = ""
    """The dim along which errors grow, where the contract says so: one that the inputs have and the outputs lack."""
    shown: Call | None = None
    """The input of the witness."""
    calls: tuple[Call, ...] = field(default=())

    @property
    def key(self) -> tuple[str, str, str, str]:
        return self.class_id, self.contract, self.digest, self.dtypes

    def on(self, column: str) -> Measured:
        return replace(self, column=column)


def real(value: Any) -> float:
    """A number of a record, special ones by their names. Raises ValueError, TypeError on anything else."""
    if isinstance(value, bool):
        raise TypeError("a truth value stands where a number is due")
    return float(value)


def call_from(record: Mapping[str, Any]) -> Call | None:
    """One trace record; None where nothing was measured. Raises ValueError, KeyError, TypeError, AttributeError."""
    if record.get("skipped"):
        return None
    case = record["case"]
    outputs = [o for o in record.get("outputs", ()) if o.get("extent")]
    facts = record.get("facts", {})
    ratio = real(record.get("ratio", 0.0))
    broken = record.get("outcome", "returned") != "returned" or bool(record.get("defect"))
    call = Call(
        str(case.get("family", "")),
        str(case.get("shape_family", "")),
        {str(k): int(v) for k, v in case.get("dims", {}).items()},
        str(case.get("layout", "")),
        bool(record["violates"]) or broken,
        math.inf if broken or math.isnan(ratio) else ratio,
        order=str(facts.get("order", "")),
        tree=_tree(str(facts.get("order_tree", ""))),
    )
    if not outputs:
        return call
    first = max(outputs, key=lambda o: real(o["ratio"]))
    extent = first["extent"]
    return replace(
        call,
        output=str(first["name"]),
        residual=real(extent["residual"]),
        tolerance=real(extent["tolerance"]),
        plane=_two(extent["plane"]),
        blocks=_two(extent["blocks"]),
        map=tuple(tuple(real(r) for r in row) for row in extent["map"]),
    )


def _two(values: Any) -> tuple[int, int]:
    a, b = (int(v) for v in values)
    if a < 0 or b < 0:
        raise ValueError("a size is negative")
    return a, b


def _tree(text: str) -> tuple[tuple[int, ...], ...]:
    """Steps of additions; each number is a term or an earlier step. Raises ValueError where it is no tree."""
    steps = tuple(tuple(int(n) for n in step.split("+")) for step in text.split())
    terms = sum(map(len, steps)) - len(steps) + 1
    for k, step in enumerate(steps):
        if any(not 0 <= n < terms + k for n in step):
            raise ValueError("its order of additions is no tree")
    used = [n for step in steps for n in step]
    if len(set(used)) != len(used):
        raise ValueError("its order of additions uses a number twice")
    return steps


def measured_from(record: Mapping[str, Any], column: str) -> Measured:
    """One result record. Raises ValueError, KeyError, TypeError, AttributeError."""
    kernel = record["kernel"]
    stack = " ".join(str(kernel.get(k) or "") for k in ("stack", "stack_version", "device")).strip()
    return Measured(
        column,
        str(record["contract"]),
        str(record["version"]),
        str(record["class"]),
        str(record["operation"]),
        ", ".join(map(str, record["dtypes"].values())),
        str(record["digest"]),
        str(record["verdict"]),
        str(record.get("reason") or ""),
        real(record.get("ratio", 0.0)),
        str(record.get("signature") or ""),
        str(record.get("detail") or ""),
        record.get("worst"),
        int(record["samples"]),
        int(record["failures"]),
        int(record.get("tolerance_free", 0)),
        tuple(map(str, record.get("notes", ()))),
        int(record["seed"]),
        str(kernel.get("target", "")),
        stack,
    )

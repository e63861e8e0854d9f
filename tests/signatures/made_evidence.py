"""Observations made by hand: what a measurement would have seen, without measuring."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from kernel_contracts.contracts.evidence import Case, Element, Layout, Observation, Outcome, OutputReading
from kernel_contracts.signatures import Evidence

FP32_BITS = 24


def case(
    family: str = "normal", id: int = 0, shape_family: str = "ordinary", layout: Layout = Layout.CONTIGUOUS,
    scalars: dict[str, Any] | None = None, **dims: int,
) -> Case:  # fmt: skip
    return Case(id, family, {"P": "fp32"}, dims or {"M": 4, "N": 4}, scalars or {}, layout, 100 + id, shape_family)


def reading(ratio: float = 0.5, size: int = 16, **given: Any) -> OutputReading:
    """One output: it fails where `ratio` is above 1."""
    bad = ratio > 1
    worst = Element("y", (0,), 3.0, 1.0, 0.1, ratio) if bad else None
    made = OutputReading("y", size, ratio, size if bad else 0, 0, 0, 0, 0, 0, worst)
    return replace(made, **given)


def seen(ratio: float = 0.5, family: str = "normal", *, outcome: Outcome = Outcome.RETURNED, detail: str = "",
         **given: Any) -> Observation:  # fmt: skip
    """One observation; names of its fields go to it, the others to its case or its reading."""
    own = {k: given.pop(k) for k in list(given) if k in Observation.__dataclass_fields__}
    parts = {k: given.pop(k) for k in list(given) if k in OutputReading.__dataclass_fields__}
    made = Observation(case(family, **given), outcome, detail, oracle="fp64")
    if outcome is Outcome.RETURNED and "defect" not in own and "skipped" not in own:
        made = replace(made, outputs=(reading(ratio, **parts),))
    return replace(made, **own)


def evidence(*observations: Observation, bits: int = FP32_BITS, output: str = "fp32") -> Evidence:
    """Evidence whose witness is the first observation."""
    return Evidence(tuple(observations), observations[0], bits, output)

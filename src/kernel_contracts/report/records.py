"""Results and observations as JSON records, one object a line, with a published schema.

Special numbers are written as the strings "inf", "-inf" and "nan", so that every line is strict JSON.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from kernel_contracts.contracts.evidence import Extent, Finding, Observation, OutputReading
from kernel_contracts.contracts.model import Bound, Contract
from kernel_contracts.measurement.calls import LoadReport

TRACE_VERSION = 1


def number(x: float) -> float | str:
    """A JSON number, or the name of a special value."""
    if math.isfinite(x):
        return float(x)
    return "nan" if math.isnan(x) else "inf" if x > 0 else "-inf"


def kernel_record(target: str, report: LoadReport) -> dict[str, Any]:
    """The kernel of a result: what was asked for, and what was loaded for it."""
    return {
        "target": target,
        "name": report.name,
        "sha256": report.sha256,
        "stack": report.stack,
        "stack_version": report.stack_version,
        "device": report.device,
    }


def result_record(
    contract: Contract,
    bound: Bound,
    finding: Finding,
    *,
    seed: int,
    seconds: float,
    kernel: Mapping[str, Any],
    platform: str,
    witness: str = "",
) -> dict[str, Any]:
    """The line that `--json` writes for one contract and one choice of dtypes."""
    from kernel_contracts.version import VERSION

    worst = finding.witness.outputs[0].worst if finding.witness is not None and finding.witness.outputs else None
    return {
        "record": "result",
        "schema": TRACE_VERSION,
        "tool": VERSION,
        "contract": contract.name,
        "version": contract.version,
        "class": contract.class_id,
        "operation": contract.operation,
        "dtypes": dict(bound.dtypes),
        "digest": contract.digest,
        "verdict": finding.verdict.value,
        "reason": finding.reason,
        "ratio": number(finding.ratio),
        "signature": finding.signature.name if finding.signature else None,
        "detail": finding.signature.detail if finding.signature else None,
        "worst": None
        if worst is None
        else {
            "output": worst.output,
            "index": list(worst.index),
            "got": number(worst.got),
            "oracle": number(worst.oracle),
            "tolerance": number(worst.tolerance),
            "ratio": number(worst.ratio),
        },
        "witness": witness or None,
        "samples": finding.samples,
        "failures": finding.failures,
        "upper95": finding.upper95,
        "undetermined": finding.undetermined,
        "tolerance_free": finding.tolerance_free,
        "notes": list(finding.notes),
        "seed": seed,
        "seconds": round(seconds, 3),
        "kernel": dict(kernel),
        "platform": platform,
    }


def trace_record(contract: Contract, bound: Bound, o: Observation, *, kernel: str, platform: str) -> dict[str, Any]:
    """One line of a trace: everything about one call of the kernel."""
    return {
        "record": "trace",
        "schema": TRACE_VERSION,
        "contract": contract.name,
        "version": contract.version,
        "digest": contract.digest,
        "class": contract.class_id,
        "kernel": kernel,
        "platform": platform,
        "case": {
            "id": o.case.id,
            "family": o.case.family,
            "shape_family": o.case.shape_family,
            "dtypes": dict(o.case.dtypes),
            "dims": dict(o.case.dims),
            "scalars": dict(o.case.scalars),
            "layout": o.case.layout.value,
            "seed": o.case.seed,
        },
        "outcome": o.outcome.value,
        "detail": o.detail,
        "defect": o.defect,
        "mutated": list(o.mutated),
        "skipped": o.skipped,
        "oracle": o.oracle,
        "oracle_ok": o.oracle_ok,
        "ratio": number(o.ratio),
        "violates": o.violating,
        "outputs": [_reading(r) for r in o.outputs],
        "readings": {k: number(v) for k, v in o.readings.items()},
        "facts": dict(o.facts),
        "hypotheses": {k: number(v) for k, v in o.hypotheses.items()},
        "hashes": dict(o.hashes),
        "timing": {k: round(v, 6) for k, v in o.timing.items()},
    }


def _reading(r: OutputReading) -> dict[str, Any]:
    return {
        "name": r.name,
        "size": r.size,
        "ratio": number(r.ratio),
        "exceeding": r.exceeding,
        "undetermined": r.undetermined,
        "exact": r.exact,
        "exact_wrong": r.exact_wrong,
        "nonfinite": r.nonfinite,
        "zeros": r.zeros,
        "residual": None if r.worst is None else number(abs(r.worst.got - r.worst.oracle)),
        "tolerance": None if r.worst is None else number(r.worst.tolerance),
        "region": {k: list(v) for k, v in r.region.items()},
        "boundary": dict(r.boundary),
        "own_error": number(r.own_error),
        "extent": None if r.extent is None else _extent(r.extent),
    }


def _extent(e: Extent) -> dict[str, Any]:
    """Ratios of the map to three digits: it is a picture."""
    return {
        "residual": number(e.residual),
        "tolerance": number(e.tolerance),
        "plane": list(e.plane),
        "blocks": list(e.blocks),
        "map": [[number(float(f"{r:.3g}")) for r in row] for row in e.map],
    }


def line(record: Mapping[str, Any]) -> str:
    """One line of strict JSON, keys in a fixed order."""
    return json.dumps(record, allow_nan=False, separators=(", ", ": "))


def schema(name: str = "records") -> dict[str, Any]:
    """The JSON Schema (2020-12) of both kinds of line, or with `runs` of what is written of many platforms."""
    found: dict[str, Any] = json.loads((Path(__file__).parent / f"{name}.schema.json").read_text(encoding="utf-8"))
    return found

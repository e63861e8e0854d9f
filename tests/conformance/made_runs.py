"""Run directories with made evidence: nothing is measured, so each can lack exactly one thing."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from kernel_contracts.conformance.directory import RunDirectory, cell_path, trace_path
from kernel_contracts.conformance.manifest import Cell, Manifest, entry
from kernel_contracts.contracts.catalogue import load_text
from kernel_contracts.measurement.fingerprint import digest
from kernel_contracts.vocabulary import vocabulary

_CONTRACT = """contract {name} version 1.2 implements {cls}
{{
  scope     {scope}
  pre       {pre}
  post      {post}
  tolerance derived
  reference {{ {reference} }}
  measure {{
    inputs  normal
    shapes  one
    samples 1
  }}
}}
"""
PLAIN = {
    "scope": "doubled for P in {fp32} (x: P[N]) -> y: P[N]",
    "pre": "N in 1..64 and finite(x)",
    "post": "y within tolerance of reference",
    "reference": "y = x + x in fp32",
}
INDICES = {
    "scope": "doubled for P in {fp32} (x: P[N], i: int32[R]) -> y: P[R]",
    "pre": "N, R in 1..64 and finite(x)",
    "post": "y within tolerance of reference\n            and policy out_of_bounds = undefined",
    "reference": "y = gather(x, i, axis = 0)",
}
PROMISE = {"post": "y within tolerance of reference\n            and policy determinism = {} across runs(3)"}
FINGERPRINT = {"os": "Linux", "arch": "x86_64", "cpu": {"model": "made"}, "stack": {"name": "numpy"}}
KERNEL = "a" * 64


@dataclass
class Made:
    """One cell to be."""

    name: str
    cls: str
    clauses: Mapping[str, str] = field(default_factory=dict)
    verdict: str = "conforms"
    calls: int = 40
    exact: bool = False
    """Every element admits one value."""
    shape_family: str = "tails(16)"
    facts: Mapping[str, str] = field(default_factory=dict)
    failures: int = 0
    separates: bool | None = True
    oracle: str = "fp64"

    def text(self) -> str:
        return _CONTRACT.format(name=self.name, cls=self.cls, **{**PLAIN, **self.clauses})


def usual() -> dict[str, Made]:
    """Everything that one run can show about a kernel."""
    return {
        "values": Made("values", "C-PRC-01"),
        "shapes": Made("shapes", "C-CMP-03", shape_family="held_out(6)"),
        "schedules": Made("schedules", "C-CMP-02", facts={"space": "none"}),
        "repeats": Made(
            "repeats", "C-ORD-02", {"post": PROMISE["post"].format("bitwise")}, facts={"runs": "same"}
        ),
    }  # fmt: skip


def write(
    root: Path,
    cells: Mapping[str, Made],
    platform: str = "mine",
    *,
    fingerprint: Mapping[str, Any] = FINGERPRINT,
    kernel: str = "",
    version: str = "2",
) -> Path:
    """A run directory of these cells, in order."""
    contracts = {m.name: load_text(m.text(), m.name, vocabulary())[0] for m in cells.values()}
    places = {m.name: Cell(platform, m.name, "fp32") for m in cells.values()}
    manifest = Manifest(
        7, None, 30.0, 4096, ({"name": platform, "stack": "numpy"},), tuple(entry(c) for c in contracts.values()),
        tuple(places.values()), {"digest": digest(fingerprint), **fingerprint},
    )  # fmt: skip
    directory = RunDirectory(root)
    root.mkdir()
    directory.begin(manifest, {c.name: c.source for c in contracts.values()})
    directory.put({f"fingerprints/{digest(fingerprint)[:16]}.json": json.dumps(fingerprint)})
    for m in cells.values():
        cell, contract = places[m.name], contracts[m.name]
        lines = [json.dumps(_call(m, k)) for k in range(m.calls)]
        if lines:
            directory.put({trace_path(cell): "\n".join(lines) + "\n"})
        record = _record(m, cell, contract.digest, contract.operation)
        record["fingerprint"] = digest(fingerprint)
        record["result"]["kernel"] |= {"sha256": kernel or KERNEL, "stack_version": version}
        directory.put({cell_path(cell): json.dumps(record) + "\n"})
        if m.separates is not None:
            directory.put({f"calibration/{m.name}/fp32.json": json.dumps({"separates": m.separates}) + "\n"})
    return root


def _call(m: Made, k: int) -> dict[str, Any]:
    output = {"name": "y", "size": 8, "exact": 8 if m.exact else 0, "undetermined": 0}
    return {
        "record": "trace", "case": {"id": k, "shape_family": m.shape_family}, "skipped": "", "oracle": m.oracle,
        "oracle_ok": True, "outputs": [output], "facts": dict(m.facts), "violates": k < m.failures,
    }  # fmt: skip


def _record(m: Made, cell: Cell, contract_digest: str, operation: str) -> dict[str, Any]:
    result = {
        "contract": m.name, "version": "1.2", "class": m.cls, "operation": operation, "dtypes": {"P": "fp32"},
        "digest": contract_digest, "verdict": m.verdict, "reason": f"made: {m.verdict}", "detail": None,
        "samples": m.calls, "failures": m.failures, "seed": 7,
        "kernel": {"name": "k", "target": "k.py:k", "sha256": KERNEL, "stack": "numpy", "stack_version": "2"},
    }  # fmt: skip
    return {
        "record": "cell", "platform": cell.platform, "fingerprint": digest(FINGERPRINT), "result": result,
        "measured": "2026-01-01T00:00:00Z", "unavailable": False, "fixed": [], "beyond": {},
    }  # fmt: skip

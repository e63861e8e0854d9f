"""A run of any size with made evidence, as large as a page has to carry: `python made_report.py FOLDER` writes one."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import numpy as np

from kernel_contracts.conformance.directory import RunDirectory, cell_path, trace_path
from kernel_contracts.conformance.manifest import Cell, Manifest, entry, label
from kernel_contracts.contracts.catalogue import standard_library
from kernel_contracts.contracts.model import Bound, Contract
from kernel_contracts.measurement.fingerprint import digest
from kernel_contracts.vocabulary import vocabulary

FINGERPRINT = {"os": "Linux", "arch": "x86_64", "cpu": {"model": "made"}}
STACKS = ("numpy", "torch", "jax", "onnxruntime", "mine")
_FAMILIES = ("normal", "positive", "cancelling(1e6)", "exact", "swamping")


def write(root: Path, contracts: int = 50, stacks: int = 5, calls: int = 48, evil: str = "") -> Path:
    """One platform, the last, breaks every fifth contract in its tails. `evil`: text of a kernel that is up to no
    good, put wherever a kernel's words go."""
    chosen = standard_library(vocabulary())[:contracts]
    names = STACKS[:stacks]
    bound = {c.name: c.bound[0] for c in chosen}
    cells = [Cell(p, c.name, label(bound[c.name])) for p in names for c in chosen]
    manifest = Manifest(
        7, None, 30.0, 4096, tuple({"name": p, "stack": p} for p in names), tuple(entry(c) for c in chosen),
        tuple(cells), {"digest": digest(FINGERPRINT), **FINGERPRINT},
    )  # fmt: skip
    root.mkdir(parents=True)
    directory = RunDirectory(root)
    directory.begin(manifest, {c.name: c.source for c in chosen})
    directory.put({f"fingerprints/{digest(FINGERPRINT)[:16]}.json": json.dumps(FINGERPRINT)})
    rng = np.random.default_rng(1)
    files: dict[str, str] = {}
    for number, cell in enumerate(cells):
        contract = chosen[number % len(chosen)]
        bad = cell.platform == names[-1] and number % len(chosen) % 5 == 0
        files |= _cell(cell, contract, bound[contract.name], rng, calls, bad, evil)
    directory.put(files)
    return root


def _cell(
    cell: Cell, contract: Contract, bound: Bound, rng: np.random.Generator, calls: int, bad: bool, evil: str
) -> dict[str, str]:
    lines = [_call(contract, k, rng, bad) for k in range(calls)]
    failures = sum(line["violates"] for line in lines)
    worst = max(float(line["ratio"]) for line in lines)
    result = {
        "record": "result", "schema": 1, "tool": "made", "contract": contract.name, "version": contract.version,
        "class": contract.class_id, "operation": contract.operation, "dtypes": dict(bound.dtypes),
        "digest": contract.digest, "verdict": "violates" if bad else "conforms",
        "reason": f"{failures} of {calls} cases fail{evil}" if bad else f"made{evil}", "ratio": worst,
        "signature": "tail_dropped" if bad else None,
        "detail": f"the tail along axis 1 is never written{evil}" if bad else None,
        "worst": {
            "output": f"y{evil}", "index": [3, 128], "got": 0.0, "oracle": 1.5, "tolerance": 1e-6, "ratio": worst
        } if bad else None,
        "witness": None, "samples": calls, "failures": failures, "upper95": None, "undetermined": 0.0,
        "tolerance_free": 12, "notes": [f"a note{evil}"], "seed": 7, "seconds": 0.1,
        "kernel": {
            "target": f"k.py:k{evil}", "name": f"k{evil}", "sha256": "a" * 64, "stack": cell.platform,
            "stack_version": "1.0", "device": "cpu",
        },
        "platform": digest(FINGERPRINT),
    }  # fmt: skip
    record = {
        "record": "cell", "schema": 1, "platform": cell.platform, "fingerprint": digest(FINGERPRINT),
        "measured": "2026-01-01T00:00:00Z", "result": result, "unavailable": False, "fixed": [], "beyond": {},
    }  # fmt: skip
    return {
        trace_path(cell): "".join(json.dumps(line) + "\n" for line in lines),
        cell_path(cell): json.dumps(record) + "\n",
    }


def _call(contract: Contract, k: int, rng: np.random.Generator, bad: bool) -> dict[str, Any]:
    size = int(2 ** rng.uniform(0, 12))
    ratios = np.round(rng.uniform(0, 0.9, (16, 16)), 3)
    fails = bad and size % 16 != 0
    if fails:
        ratios[:, -1] = 1e6
    tolerance = size * 2.0**-24
    extent = {
        "residual": tolerance * float(ratios.max()), "tolerance": tolerance, "plane": [256, 241], "blocks": [16, 16],
        "map": ratios.tolist(),
    }  # fmt: skip
    output = {"name": "y", "size": 256 * 241, "ratio": float(ratios.max()), "extent": extent}
    return {
        "record": "trace", "schema": 1, "contract": contract.name, "version": contract.version,
        "digest": contract.digest, "class": contract.class_id, "kernel": "a" * 64, "platform": digest(FINGERPRINT),
        "case": {
            "id": k, "family": _FAMILIES[k % 5], "shape_family": "tails(16)", "dtypes": {}, "layout": "contiguous",
            "dims": dict.fromkeys(contract.dims, size) or {"N": size}, "seed": k,
        },
        "skipped": "", "outcome": "returned", "defect": "", "ratio": float(ratios.max()), "violates": bool(fails),
        "outputs": [output], "facts": {"order": "sequential", "order_tree": "0+1 4+2 5+3"} if k == 0 else {},
    }  # fmt: skip


if __name__ == "__main__":
    sys.stdout.write(f"{write(Path(sys.argv[1]))}\n")

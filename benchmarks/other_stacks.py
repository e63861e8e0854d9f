"""The stacks that no test run installs: does each keep the promises of a stack, and what do a few contracts say of it?

    python benchmarks/other_stacks.py [--only openvino,iree] [--install]

Writes benchmarks/results/other_stacks.json, a record a stack; with --only the others stay as they were written. With
--install each is installed first, in the environment of this Python, and one that cannot be is recorded as missing.
Exit status 1 when a promise is broken, or a contract ends otherwise than by a verdict.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from kernel_contracts.errors import KernelContractsError
from kernel_contracts.measurement.fingerprint import platform_fingerprint
from kernel_contracts.stacks.base import VARIANT, find, stacks

ROOT = Path(__file__).parents[1]
RESULTS = ROOT / "benchmarks" / "results" / "other_stacks.json"
LIMIT = 900
"""Seconds a program."""
FEW = (("matmul", "C-CMP-03"), ("softmax", "C-PRC-03"), ("sum", "C-ORD-01"), ("max", "C-EXC-01"))


@dataclass(frozen=True, slots=True)
class Other:
    """One stack, and the contracts of the standard library that it is measured by."""

    stack: str
    """Its name, with a variant where only that runs here."""
    extra: str
    """What installs it."""
    contracts: Sequence[tuple[str, str]] = FEW
    """Operation and class; empty for a stack without operations of its own."""
    device: str = ""
    dtype: str = "fp32"


OTHERS: Sequence[Other] = (
    Other("triton@interpreter", "triton", (), "cpu"),
    Other("openvino", "openvino"),
    Other("openvino@denormals-are-zero", "openvino", (("mul", "C-PRC-03"),)),
    Other("iree", "iree"),
    Other("iree@vmvx", "iree", (("matmul", "C-CMP-03"), ("softmax", "C-PRC-03"))),
    Other("iree@f64", "iree", (("matmul", "C-PRC-01"),), dtype="fp64"),
    Other("tvm", "tvm"),
    Other("tinygrad", "tinygrad"),
)


def installed(extra: str) -> str:
    """Installs an extra of this package; what went wrong, else empty."""
    command = [sys.executable, "-m", "pip", "install", "--quiet", "--no-compile", "--disable-pip-version-check"]
    done = subprocess.run(
        [*command, "--editable", f".[{extra}]"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    lines = [line for line in done.stderr.splitlines() if line.startswith("ERROR")]
    return "" if done.returncode == 0 else " ".join(lines or ["pip gives no reason"])[:300]


def promises(other: Other) -> list[dict[str, str]]:
    """What the conformance kit says, in a process of its own."""
    environment = {**os.environ, **find(other.stack).environment}
    command = [sys.executable, "-m", "kernel_contracts.stacks.conformance", other.stack, other.device]
    done = subprocess.run(command, capture_output=True, text=True, timeout=LIMIT, check=False, env=environment)
    last = done.stdout.splitlines()[-1:]
    found: Any = json.loads(last[0]) if last else done.stderr.strip()[-300:]
    return found if isinstance(found, list) else [{"text": "the kit runs", "broken": str(found)}]


def verdicts(other: Other, operation: str, class_id: str) -> list[dict[str, Any]]:
    """What one class of contracts of an operation says of the stack's own kernel."""
    with tempfile.TemporaryDirectory() as folder:
        lines = Path(folder) / "results.jsonl"
        words = ["check", "--stack", other.stack, "--as", operation, "--class", class_id, "--dtype", other.dtype]
        words += ["--samples", "6", "--seed", "1", "--json", str(lines), "--keep", folder]
        command = [sys.executable, "-m", "kernel_contracts", *words]
        done = subprocess.run(command, capture_output=True, text=True, timeout=LIMIT, check=False)
        results = [json.loads(line) for line in lines.read_text().splitlines()] if lines.exists() else []
    if not results:
        return [{"operation": operation, "class": class_id, "verdict": "error", "detail": done.stderr.strip()[-300:]}]
    kept = ("contract", "class", "dtypes", "verdict", "signature", "detail", "samples", "failures")
    return [{"operation": operation, **{k: r[k] for k in kept}} for r in results]


def measured(other: Other, trouble: str) -> dict[str, Any]:
    """The record of one stack."""
    record: dict[str, Any] = {"stack": other.stack, "extra": other.extra}
    plain = other.stack.partition(VARIANT)[0]
    if plain not in stacks():
        return {**record, "missing": f"this version has no stack {plain}"}
    if trouble or not stacks()[plain].available():
        return {**record, "missing": trouble or stacks()[plain].install_hint()}
    begun = time.monotonic()
    try:
        kit = promises(other)
        found = [v for operation, class_id in other.contracts for v in verdicts(other, operation, class_id)]
        version = stacks()[plain].version()
    except (KernelContractsError, subprocess.TimeoutExpired) as error:
        return {**record, "missing": str(error)}
    return {
        **record, "version": version, "promises": len(kit), "broken": [p for p in kit if p["broken"]],
        "contracts": found, "seconds": round(time.monotonic() - begun, 1),
    }  # fmt: skip


def sound(record: dict[str, Any]) -> bool:
    """Whether nothing is wrong with the stack; what its library breaks is no fault of the stack."""
    told = ("conforms", "violates", "inconclusive")
    return not record.get("broken") and all(c["verdict"] in told for c in record.get("contracts", ()))


def line(record: dict[str, Any]) -> str:
    if "missing" in record:
        return f"{record['stack']:28} missing: {record['missing']}"
    kept = record["promises"] - len(record["broken"])
    said = ", ".join(f"{c['operation']} {c['class']} {c['signature'] or c['verdict']}" for c in record["contracts"])
    return f"{record['stack']:28} {kept} of {record['promises']} promises; {said or 'no operations of its own'}"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", default="", help="stacks without their variants, separated by commas")
    parser.add_argument("--install", action="store_true", help="install what is measured first")
    given = parser.parse_args()
    only = set(filter(None, given.only.split(",")))
    old = {r["stack"]: r for r in json.loads(RESULTS.read_text())["stacks"]} if RESULTS.exists() else {}
    trouble: dict[str, str] = {}
    new: dict[str, dict[str, Any]] = {}
    for other in OTHERS:
        if only and other.stack.partition(VARIANT)[0] not in only:
            continue
        if given.install and other.extra not in trouble:
            trouble[other.extra] = installed(other.extra)
        new[other.stack] = measured(other, trouble.get(other.extra, ""))
        sys.stdout.write(line(new[other.stack]) + "\n")
        sys.stdout.flush()
        rows = [new.get(o.stack) or old.get(o.stack) for o in OTHERS]
        written = {"platform": platform_fingerprint()["cpu"]["model"], "stacks": [r for r in rows if r]}
        RESULTS.write_text(json.dumps(written, indent=1) + "\n")
    return 0 if all(map(sound, new.values())) else 1


if __name__ == "__main__":
    sys.exit(main())

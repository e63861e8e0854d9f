"""Small runs for the tests: contracts of one operation that a few kernels keep, break, or end at."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

SOURCE = Path(__file__).parents[2] / "src"
KERNELS = """
import os
import time
import numpy as np

def good(x):
    return x * np.float32(2)

def slow(x):
    time.sleep(0.05)
    return x * np.float32(2)

def wrong(x):
    return x * np.float32(3)

def crashing(x):
    os.kill(os.getpid(), 11)

def hanging(x):
    time.sleep(600)
"""
CONTRACT = """contract doubled-{k} version 1.0 implements C-CMP-01
{{
  scope     doubled for P in {{fp32}} (x: P[N]) -> y: P[N]
  pre       N in 1..64 and finite(x)
  post      y within tolerance of reference
  tolerance derived
  reference {{ y = x + x in fp32 }}
  measure {{
    inputs  normal
    shapes  one
    samples 1
  }}
}}
"""


def written(folder: Path, contracts: int = 2) -> Path:
    """Kernels and contracts in a folder."""
    (folder / "k.py").write_text(KERNELS, encoding="utf-8")
    (folder / "two.kc").write_text("\n".join(CONTRACT.format(k=k) for k in range(contracts)), encoding="utf-8")
    return folder


def command(*arguments: object) -> list[str]:
    return [sys.executable, "-m", "kernel_contracts", "run", "two.kc", "--seed", "5", *map(str, arguments)]


def environment() -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": str(SOURCE)}


def start(folder: Path, *arguments: object, **more: Any) -> subprocess.Popen[str]:
    return subprocess.Popen(
        command(*arguments), cwd=folder, env=environment(), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        **more,
    )  # fmt: skip


def ledger(root: Path) -> list[dict[str, str]]:
    """Complete lines of a ledger."""
    try:
        data = (root / "digests.jsonl").read_bytes()
    except OSError:
        return []
    return [json.loads(line) for line in data[: data.rfind(b"\n") + 1].splitlines()]


def finished(root: Path) -> dict[str, str]:
    """Digests of the cells that are done."""
    return {e["path"]: e["sha256"] for e in ledger(root) if e["path"].startswith("cells/")}


def results(root: Path) -> dict[str, dict[str, Any]]:
    """Each cell's result by `platform/contract`."""
    out = {}
    for path in sorted((root / "cells").rglob("*.json")):
        record = json.loads(path.read_text("utf-8"))
        out[f"{record['platform']}/{record['result']['contract']}"] = record["result"]
    return out

"""Ctrl-C: what is finished is on disk, no process stays behind, and no traceback is shown."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from kc import jsonl

SLOW = """
import os
import time
import numpy as np

open("pids", "a").write(f"{os.getpid()}\\n")


def silu(x):
    if os.path.exists("stop"):
        time.sleep(600)
    return x / (1 + np.exp(-x))
"""


def alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text("utf-8").rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def hear_interrupts() -> None:
    """A shell starts what it runs in the background deaf to SIGINT, and children inherit that, this one too."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


@pytest.mark.skipif(not Path("/proc").is_dir(), reason="looks for processes in /proc")
def test_an_interrupt_leaves_finished_results_and_no_process(tmp_path: Path) -> None:
    (tmp_path / "k.py").write_text(SLOW, encoding="utf-8")
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[2] / "src")}
    command = [sys.executable, "-m", "kernel_contracts", "check", "k.py:silu", "--as", "silu", "--dtype", "fp32",
               "--samples", "40", "--seed", "1", "--keep", "out", "--timeout", "500"]  # fmt: skip
    started = subprocess.Popen(
        command, cwd=tmp_path, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        preexec_fn=hear_interrupts,
    )  # fmt: skip
    results = tmp_path / "out" / "results.jsonl"
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline and not (results.exists() and results.read_text("utf-8").strip()):
        time.sleep(0.005)
    (tmp_path / "stop").touch()
    time.sleep(0.3)
    started.send_signal(signal.SIGINT)
    out, err = started.communicate(timeout=30)
    assert started.returncode == 130, (out, err)
    assert "Traceback" not in out + err
    assert err.strip() == "kc: interrupted; what was finished is written"
    assert [r["contract"] for r in jsonl(results)] == ["silu-function"]
    traces = jsonl(tmp_path / "out" / "traces.jsonl")
    assert sum(t["contract"] == "silu-function" for t in traces) == jsonl(results)[0]["samples"]
    pids = [int(p) for p in (tmp_path / "pids").read_text("utf-8").split()]
    deadline = time.monotonic() + 10
    while time.monotonic() < deadline and any(alive(p) for p in pids):
        time.sleep(0.05)
    assert not any(alive(p) for p in pids)

"""The script for machines with an accelerator: every part runs on the processor at tiny sizes, and limits are kept."""

from __future__ import annotations

import importlib.util
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

torch = pytest.importorskip("torch")
pytestmark = [pytest.mark.torch, pytest.mark.slow]
SCRIPT = Path(__file__).parents[2] / "benchmarks" / "device.py"


def script(*arguments: str) -> str:
    command = [sys.executable, str(SCRIPT), *arguments]
    done = subprocess.run(command, capture_output=True, text=True, timeout=280, check=True)
    return done.stdout


def module() -> Any:
    spec = importlib.util.spec_from_file_location("device", SCRIPT)
    assert spec is not None
    assert spec.loader is not None
    found = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(found)
    return found


def test_every_part_runs_and_finds_what_is_planted(tmp_path: Path) -> None:
    out = tmp_path / "device.json"
    script("--device", "cpu", "--scale", "0.004", "--out", str(out))
    found = json.loads(out.read_text("utf-8"))
    assert list(found) == ["environment", "library", "triton", "products", "guard"]
    assert {part: f["ended"] for part, f in found.items()} == dict.fromkeys(found, "finished")
    assert found["environment"]["results"][0]["torch"] == torch.__version__
    (copied,) = found["library"]["results"]
    assert copied["operation"] == "copy"
    assert copied["verdicts"]["conforms"] > 0
    assert copied["violations"] == []
    for r in found["products"]["results"]:
        assert (r["ok"], r["suspicious"]) == (True, False)
        assert r["planted fault"] == {"found": True, "row": 1, "suspicious at first look": True}
    for r in found["guard"]["results"]:
        assert r["losses are the same"]
        assert (r["suspicious"], r["violations"]) == (0, 0)
        assert r["account"].startswith("177 of 177 products verified") or "100%" in r["account"]


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a CUDA device here")
def test_without_a_device_one_sentence_and_nothing_written(tmp_path: Path) -> None:
    out = tmp_path / "device.json"
    assert (
        script("--out", str(out)).strip()
        == "There is no CUDA device here, so nothing is measured and nothing is written."
    )
    assert not out.exists()


def test_a_part_that_takes_too_long_is_ended_and_keeps_what_it_has(monkeypatch: pytest.MonkeyPatch) -> None:
    device = module()
    monkeypatch.setitem(device.LIMITS, "products", 12)
    found = device.limited("products", "cpu", 0.6)  # thousands of columns: minutes
    assert found["ended"] == "stopped after 12 seconds"
    assert found["seconds"] < 60


def test_a_part_that_fails_says_why() -> None:
    found = module().limited("products", "nowhere", 0.004)
    assert found["ended"].startswith("failed with exit status 1: RuntimeError")
    assert found["results"] == []

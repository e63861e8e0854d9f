"""One machine under two variants of a stack: two runs, arbitrated like those of two machines."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[1] / "cli"))
from kc import kc

pytestmark = pytest.mark.torch


def test_another_instruction_set_diverges_within_every_contract(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("torch")
    monkeypatch.chdir(tmp_path)
    what = ("exp", "sum", "--class", "C-CMP-03", "--class", "C-PRC-01", "--dtype", "fp32", "--samples", 4, "--seed", 5)
    for variant in ("torch", "torch@default-isa"):
        ended = kc("run", *what, "--stacks", variant, "-o", variant)
        assert ended.status == 0, ended.out + ended.err
    ended = kc("compare", "torch", "torch@default-isa", "--json", "-")
    found = json.loads(ended.out)
    assert ended.status == found["status"] == 0
    assert {r["ruling"] for r in found["rows"]} <= {"identical bits", "legitimate divergence"}
    assert len(found["rows"]) == 3
    one, other = found["platforms"]
    assert one["fingerprints"] != other["fingerprints"], "the variant is part of the fingerprint"
    prints = Path("torch@default-isa") / "fingerprints" / f"{other['fingerprints'][0][:16]}.json"
    assert json.loads(prints.read_text("utf-8"))["stack"]["settings"] == {"ATEN_CPU_CAPABILITY": "default"}

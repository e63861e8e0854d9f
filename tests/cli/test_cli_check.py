"""`kc check`: exit statuses, records, what is kept, and the same verdict again."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import jsonschema
import pytest
from kc import KERNELS, check, jsonl, kc, verdicts

from kernel_contracts.report.records import schema
from kernel_contracts.stacks.natives import natives

VALIDATOR = jsonschema.Draft202012Validator(schema())
SCALED = """
import numpy as np

def good(x, *, scale):
    return (x * np.float32(scale)).astype(x.dtype)

def forgets(x):
    return x * np.float32(0.5)

def refuses(x, *, scale):
    raise NotImplementedError("no such operation here")

def large_only(x, *, scale):
    y = x * np.float32(scale)
    return y + np.float32(x.size > 20)
"""
CONTRACT = '''contract scaled version 1.0 implements C-CMP-01
"""Every element is scaled once."""
{
  scope     scaled for P in {fp32} (x: P[N]; scale: real = 0.5) -> y: P[N]
  pre       N in 1..4096 and finite(x) and scale in 0.125..8
  post      y within tolerance of reference
  tolerance derived
  reference { y = x * scale in fp32 }
  measure {
    inputs  normal, uniform
    shapes  tails(16), one
    samples 8
  }
}

contract scaled-again version 2.0 implements C-CMP-03
{
  scope     scaled for P in {fp32} (x: P[N]; scale: real = 0.5) -> y: P[N]
  post      as scaled
}
'''


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "k.py").write_text(SCALED, encoding="utf-8")
    (tmp_path / "scaled.kc").write_text(CONTRACT, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    return tmp_path


# -------------------------------------------------------------------------------------------------------- statuses


def test_0_when_all_conform(folder: Path) -> None:
    ended = check("k.py:good", "--contract", "scaled.kc", "--json", "-")
    assert ended.status == 0
    assert verdicts(ended.lines) == {"scaled fp32": ("conforms", None), "scaled-again fp32": ("conforms", None)}
    assert "2 conforms" in ended.err
    assert "below" in ended.err, "the bound on the failure rate is said"
    assert all(line["upper95"] == pytest.approx(3 / line["samples"]) for line in ended.lines)


def test_1_on_a_violation_with_its_story(folder: Path) -> None:
    ended = check("k.py:forgets", "--contract", "scaled.kc:scaled")
    assert ended.status == 1
    for word in ("violates", "parameter_ignored", "Every element is scaled once.", "again", "kc replay .kc/witness/"):
        assert word in ended.out
    assert ended.err == ""


def test_3_when_nothing_is_decided(folder: Path) -> None:
    ended = check("k.py:refuses", "--contract", "scaled.kc", "--json", "-")
    assert ended.status == 3
    assert {v for v, _ in verdicts(ended.lines).values()} == {"inapplicable"}
    assert all("NotImplementedError: no such operation here" in line["reason"] for line in ended.lines)


def test_4_on_an_error_of_our_own(folder: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    from kernel_contracts.cli import running

    def broken(*_: object) -> None:
        raise RuntimeError("a mistake of ours")

    monkeypatch.setattr(running, "contracts_for", broken)
    monkeypatch.setattr("kernel_contracts.cli.app.gettempdir", lambda: str(tmp_path))
    ended = check("k.py:good", "--contract", "scaled.kc")
    assert ended.status == 4
    assert "an error of our own, RuntimeError: a mistake of ours" in ended.err
    assert "Traceback" not in ended.err
    assert "a mistake of ours" in (tmp_path / "kc-error.txt").read_text("utf-8")


def test_a_violation_outranks_what_conforms(folder: Path) -> None:
    ended = check("k.py:large_only", "--contract", "scaled.kc", "--samples", "16", "--json", "-")
    assert ended.status == 1
    assert {v for v, _ in verdicts(ended.lines).values()} == {"violates"}
    assert all(line["worst"]["index"] and line["witness"] for line in ended.lines)


# --------------------------------------------------------------------------------------------------------- records


def test_what_is_kept_validates_and_agrees(folder: Path) -> None:
    ended = check("k.py:large_only", "--contract", "scaled.kc", "--samples", "16", "--keep", "out")
    results, traces = jsonl(folder / "out" / "results.jsonl"), jsonl(folder / "out" / "traces.jsonl")
    for record in [*results, *traces]:
        VALIDATOR.validate(record)
    assert {r["record"] for r in results} == {"result"}
    assert {r["record"] for r in traces} == {"trace"}
    assert len(traces) == sum(r["samples"] for r in results)
    for result in results:
        own = [t for t in traces if t["contract"] == result["contract"]]
        assert sum(t["violates"] for t in own) == result["failures"]
        assert {t["digest"] for t in own} == {result["digest"]}
        assert {t["kernel"] for t in own} == {result["kernel"]["sha256"]}
        assert Path(result["witness"]).is_file()
        assert result["witness"] in " ".join(ended.out.split())
        assert json.loads(Path(result["witness"]).read_text("utf-8"))["case"]["dims"]["N"] == 21, "the smallest failure"


def test_results_are_appended(folder: Path) -> None:
    for seed in (1, 2):
        check("k.py:good", "--contract", "scaled.kc:scaled", "--json", "r.jsonl", seed=seed)
    assert [r["seed"] for r in jsonl(folder / "r.jsonl")] == [1, 2]


def test_special_numbers_are_strict_json(folder: Path) -> None:
    ended = check(f"{KERNELS}:returns_nan", "--json", "-")
    for record in ended.lines:
        VALIDATOR.validate(record)
        assert record["ratio"] == "inf"
        assert record["worst"]["got"] == "nan"
    for line in ended.out.splitlines():
        json.loads(line, parse_constant=lambda word: pytest.fail(f"{word} is no strict JSON"))


def test_the_same_seed_gives_the_same_run(folder: Path) -> None:
    def run(seed: int) -> list[dict[str, object]]:
        check(
            "k.py:large_only", "--contract", "scaled.kc", "--keep", f"s{seed}{len(list(folder.iterdir()))}", seed=seed
        )
        newest = max(folder.glob(f"s{seed}*"), key=lambda p: p.stat().st_mtime_ns)
        return [{k: v for k, v in t.items() if k != "timing"} for t in jsonl(newest / "traces.jsonl")]

    first = run(5)
    assert run(5) == first
    assert run(6) != first


def test_without_a_seed_one_is_drawn_and_shown(folder: Path) -> None:
    seeds = set()
    for _ in range(2):
        ended = kc("check", "k.py:good", "--contract", "scaled.kc:scaled", "--samples", "2", "--json", "-")
        assert f"seed {ended.lines[0]['seed']}" in ended.err
        seeds.add(ended.lines[0]["seed"])
    assert len(seeds) == 2


# ------------------------------------------------------------------------------------------------- choices and jobs


def test_a_fixed_parameter(folder: Path) -> None:
    """A kernel that ignores a parameter conforms where the parameter is what it takes for granted."""
    ended = check("k.py:forgets", "--contract", "scaled.kc:scaled", "--param", "scale=0.5")
    assert ended.status == 0
    assert check("k.py:forgets", "--contract", "scaled.kc:scaled", "--param", "scale=2").status == 1


def test_classes_and_dtypes_are_chosen(folder: Path) -> None:
    formats = ("--dtype", "fp32", "--dtype", "fp16")
    ended = kc("check", natives("numpy")["silu"], "--as", "silu", "--class", "C-CMP-01", *formats,
               "--samples", "2", "--seed", "1", "--json", "-")  # fmt: skip
    assert ended.status == 0
    assert list(verdicts(ended.lines)) == ["silu-function fp32", "silu-function fp16"]


def run(*arguments: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    """`kc` in a process of its own."""
    source = str(Path(__file__).parents[2] / "src")
    environment = {**os.environ, "PYTHONPATH": source, "NO_COLOR": "1"}
    return subprocess.run([sys.executable, "-m", "kernel_contracts", *arguments], cwd=cwd, env=environment,
                          capture_output=True, text=True, timeout=120, check=False)  # fmt: skip


def test_several_jobs_give_the_same_verdicts(folder: Path) -> None:
    common = ("check", "k.py:large_only", "--contract", "scaled.kc", "--seed", "4", "--samples", "16")
    alone = check("k.py:large_only", "--contract", "scaled.kc", "--json", "-", samples=16, seed=4)
    several = run(*common, "--jobs", "2", "--keep", "jobs", cwd=folder)
    assert (several.returncode, several.stderr) == (1, "")
    found = jsonl(folder / "jobs" / "results.jsonl")
    assert verdicts(found) == verdicts(alone.lines)
    same = ("ratio", "failures", "samples", "digest", "detail")
    for record in alone.lines:
        twin = next(f for f in found if f["contract"] == record["contract"])
        assert {k: twin[k] for k in same} == {k: record[k] for k in same}
    for record in [*found, *jsonl(folder / "jobs" / "traces.jsonl")]:
        VALIDATOR.validate(record)


def test_through_a_shell(folder: Path) -> None:
    ended = run("check", "k.py:good", "--contract", "scaled.kc:scaled", "--samples", "2", "--seed", "1", cwd=folder)
    assert (ended.returncode, ended.stderr) == (0, "")
    assert "conforms" in ended.stdout
    broken = run("check", "k.py:nothing", "--contract", "scaled.kc", cwd=folder)
    assert (broken.returncode, broken.stdout) == (2, "")
    assert broken.stderr.count("\n") == 1


# --------------------------------------------------------------------------------------------------------- replays


def test_a_replay_shows_the_same_failure(folder: Path) -> None:
    check("k.py:large_only", "--contract", "scaled.kc:scaled", "--samples", "16", "--keep", "out")
    (witness,) = (folder / "out" / "witness").iterdir()
    again = kc("replay", witness)
    assert again.status == 1
    assert "the same failure again" in again.out
    assert "N = 21" in again.out
    other = kc("replay", witness, "--target", "k.py:good")
    assert other.status == 0
    assert "does not fail any more: k.py:good keeps scaled on this input" in " ".join(other.out.split())
    (folder / "k.py").write_text(SCALED.replace("x.size > 20", "x.size > 20) * np.float32(7"), encoding="utf-8")
    changed = kc("replay", witness)
    assert changed.status == 1
    assert "fails again, with other numbers than recorded" in changed.out


@pytest.mark.parametrize("kernel", ["segfault", "raise_on_some", "scribble", "returns_fp64", "returns_nan"])
def test_a_replay_of_any_kind_of_failure(folder: Path, kernel: str) -> None:
    text = (
        KERNELS.read_text("utf-8") + "\n\ndef raise_on_some(x):\n    if x.size == 1:\n        raise ValueError('odd')\n"
    )
    (folder / "h.py").write_text(text + "    return x / (1 + np.exp(-x))\n", encoding="utf-8")
    first = check(f"h.py:{kernel}", "--class", "C-CMP-01", "--keep", "out", samples=6)
    assert first.status == 1
    (witness,) = (folder / "out" / "witness").iterdir()
    again = kc("replay", witness)
    assert again.status == 1
    assert "the same failure again" in again.out


def test_a_contract_with_a_reference_in_python_is_replayed(folder: Path) -> None:
    (folder / "sub").mkdir()
    (folder / "sub" / "ref.py").write_text("def f(x, *, scale):\n    return x * scale\n", encoding="utf-8")
    text = CONTRACT.replace("{ y = x * scale in fp32 }", 'python "ref.py:f" in fp32')
    (folder / "sub" / "scaled.kc").write_text(text, encoding="utf-8")
    assert check("k.py:large_only", "--contract", "sub/scaled.kc:scaled", "--keep", "out", samples=16).status == 1
    (witness,) = (folder / "out" / "witness").iterdir()
    assert "the same failure again" in kc("replay", witness).out

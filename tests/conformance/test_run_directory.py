"""A run directory: what is in it, going on with it, and every way in which it must not."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest
import run_cases

sys.path.insert(0, str(Path(__file__).parents[1] / "cli"))
from kc import kc, one_sentence

from kernel_contracts.conformance.directory import RunDirectory
from kernel_contracts.conformance.platforms import platforms
from kernel_contracts.conformance.running import Planned, Run, Wanted
from kernel_contracts.conformance.workers import Workers

OUT = "out"
KILLS_ITS_PARENT = """
import os

def good(x):
    os.kill(os.getppid(), 9)
    return x
"""
ARGUMENTS = ("--kernel", "mine=k.py:good", "-o", OUT)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(run_cases.written(tmp_path))
    return tmp_path


def planned(folder: Path) -> list[Planned]:
    """What the run would measure."""
    one = Run(Wanted(("two.kc",), platforms((), ["mine=k.py:good"]), seed=5), folder / OUT)
    next(iter(one.go()))
    return one.plans


def test_a_run_holds_what_a_comparison_elsewhere_needs(folder: Path) -> None:
    ended = kc("run", "two.kc", "--seed", 5, *ARGUMENTS)
    assert ended.status == 0, ended.err
    root = folder / OUT
    manifest = json.loads((root / "manifest.json").read_text("utf-8"))
    assert manifest["seed"] == 5
    assert manifest["cells"] == ["mine/doubled-0/fp32", "mine/doubled-1/fp32"]
    assert {p.name for p in (root / "contracts").iterdir()} == {"doubled-0.kc", "doubled-1.kc"}
    cell = json.loads((root / "cells/mine/doubled-0/fp32.json").read_text("utf-8"))
    assert cell["result"]["verdict"] == "conforms"
    assert cell["result"]["digest"] == manifest["contracts"][0]["digest"]
    assert (root / f"fingerprints/{cell['fingerprint'][:16]}.json").is_file()
    assert all(a["inputs"]["x"] and a["outputs"][0]["sha256"] for a in cell["fixed"])
    traces = [json.loads(t) for t in (root / "traces/mine/doubled-0/fp32.jsonl").read_text("utf-8").splitlines()]
    assert len(traces) == cell["result"]["samples"]
    assert {e["path"] for e in run_cases.ledger(root)} == {
        p.relative_to(root).as_posix()
        for p in root.rglob("*")
        if p.is_file() and p.name not in (".lock", "digests.jsonl")
    }


def test_going_on_measures_nothing_twice(folder: Path) -> None:
    assert kc("run", "two.kc", "--seed", 5, *ARGUMENTS).status == 0
    before = (folder / OUT / "digests.jsonl").read_bytes()
    again = kc("run", "two.kc", *ARGUMENTS)
    assert again.status == 0
    assert "2 of 2 cells were there already" in again.out
    assert (folder / OUT / "digests.jsonl").read_bytes() == before


@pytest.mark.parametrize(
    ("changed", "says"),
    [
        (("--seed", "6"), "the seed was 5 and is now 6"),
        (("--samples", "3"), "the number of samples was left open and is now 3"),
        (("--timeout", "3"), "the time limit was"),
        (("--kernel", "other=k.py:slow"), "the platforms were mine and are now mine, other"),
    ],
)
def test_a_run_does_not_go_on_with_other_options(folder: Path, changed: tuple[str, ...], says: str) -> None:
    assert kc("run", "two.kc", "--seed", 5, *ARGUMENTS).status == 0
    ended = kc("run", "two.kc", *ARGUMENTS, *changed)
    assert ended.status == 2
    assert says in one_sentence(ended)


def test_a_run_does_not_go_on_with_another_kernel_or_contract(folder: Path) -> None:
    assert kc("run", "two.kc", "--seed", 5, *ARGUMENTS).status == 0
    text = (folder / "two.kc").read_text("utf-8")
    (folder / "two.kc").write_text(text.replace("1..64", "1..65"), encoding="utf-8")
    ended = kc("run", "two.kc", *ARGUMENTS)
    assert ended.status == 2
    assert "contract doubled-0 1.0 reads differently now" in one_sentence(ended)
    (folder / "two.kc").write_text(text, encoding="utf-8")
    (folder / "k.py").write_text(run_cases.KERNELS + "\n# another thought\n", encoding="utf-8")
    ended = kc("run", "two.kc", *ARGUMENTS)
    assert "of platform mine its kernel's file was changed" in one_sentence(ended)


def test_a_cell_that_is_damaged_or_gone_is_measured_again(folder: Path) -> None:
    assert kc("run", "two.kc", "--seed", 5, *ARGUMENTS).status == 0
    (folder / OUT / "cells/mine/doubled-0/fp32.json").write_text("{}", encoding="utf-8")
    (folder / OUT / "cells/mine/doubled-1/fp32.json").unlink()
    again = kc("run", "two.kc", *ARGUMENTS)
    assert again.status == 0, again.err
    assert "already" not in again.out
    assert kc("compare", OUT).err.startswith("kc: there is only one platform"), "the directory is whole again"


def test_a_folder_with_other_things_is_left_alone(folder: Path) -> None:
    (folder / OUT).mkdir()
    (folder / OUT / "thesis.txt").write_text("years of work\n", encoding="utf-8")
    ended = kc("run", "two.kc", *ARGUMENTS)
    assert ended.status == 2
    assert "it holds thesis.txt" in one_sentence(ended)
    assert [p.name for p in (folder / OUT).iterdir() if p.name != ".lock"] == ["thesis.txt"]


def test_two_runs_do_not_write_to_one_folder(folder: Path) -> None:
    with RunDirectory(folder / OUT).locked():
        ended = kc("run", "two.kc", *ARGUMENTS)
    assert ended.status == 2
    assert "another kc run is writing" in one_sentence(ended)


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ((), "there is no platform to measure on"),
        (("--stacks", "numppy"), "there is no stack numppy"),
        (("--stacks", "numpy@warp"), "has no variant 'warp'"),
        (("--stacks", "numpy,numpy"), "platform numpy is named twice"),
        (("--kernel", "mine"), "is not of the form NAME=TARGET"),
        (("--kernel", "numpy=k.py:good"), "numpy is the name of a stack"),
        (("--kernel", "mine=k.py:good@tensorflop"), "there is no stack tensorflop"),
        (("--kernel", "mine=gone.py:good"), "there is no file"),
        (("--kernel", "mine=gone.py"), "there is no file gone.py"),
        (("--kernel", "mine=k.py"), "there is nothing to measure"),
        (("--kernel", "mine=k.py:good", "--class", "C-XXX-01"), "there is no contract class C-XXX-01"),
    ],
)
def test_what_cannot_be_measured_is_said_in_one_sentence(folder: Path, arguments: tuple[str, ...], says: str) -> None:
    ended = kc("run", "two.kc", "-o", OUT, *arguments)
    assert ended.status == 2
    assert says in one_sentence(ended)


def test_one_function_is_not_taken_for_two_operations(folder: Path) -> None:
    ended = kc("run", "exp", "silu", "--kernel", "mine=k.py:good", "-o", OUT)
    assert "one function and the contracts are of 2 operations" in one_sentence(ended)


def test_a_file_gives_each_operation_its_function(folder: Path) -> None:
    (folder / "lib.py").write_text("def doubled(x):\n    return x + x\n", encoding="utf-8")
    assert kc("run", "two.kc", "--seed", 5, "--kernel", "lib=lib.py", "-o", OUT).status == 0
    assert {r["verdict"] for r in run_cases.results(folder / OUT).values()} == {"conforms"}


def test_the_status_is_that_of_a_check(folder: Path) -> None:
    ended = kc("run", "two.kc", "--seed", 5, "--kernel", "mine=k.py:wrong", "-o", "a")
    assert ended.status == 1
    assert "kc replay a/witness/mine/doubled-0/fp32.json" in ended.out
    assert kc("replay", "a/witness/mine/doubled-0/fp32.json").status == 1
    assert kc(
        "run", "silu", "--dtype", "bf16", "--stacks", "numpy", "--class", "C-CMP-03", "--samples", 1, "-o", "b"
    ).status in (0, 1)


def test_a_platform_that_dies_hangs_or_is_missing_costs_its_own_cells(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from kernel_contracts.stacks.base import stacks

    monkeypatch.setattr(type(stacks()["torch"]), "available", lambda self: False)
    kernels = [x for n in ("crashing", "hanging", "good") for x in ("--kernel", f"{n}=k.py:{n}")]
    ended = kc(
        "run", "two.kc:doubled-0", "--seed", 5, "--stacks", "torch", *kernels, "--timeout", 0.2, "--jobs", 2, "-o", OUT
    )
    assert ended.status == 1, ended.err
    found = {k.partition("/")[0]: (r["verdict"], r["signature"]) for k, r in run_cases.results(folder / OUT).items()}
    assert found == {
        "torch": ("inapplicable", None),
        "crashing": ("violates", "crashed"),
        "hanging": ("violates", "hung"),
        "good": ("conforms", None),
    }


def test_a_kernel_that_hangs_is_not_asked_again_and_again(folder: Path) -> None:
    ended = kc("run", "two.kc:doubled-0", "--seed", 5, "--kernel", "mine=k.py:hanging", "--timeout", 0.2, "-o", OUT)
    assert ended.status == 1
    cell = json.loads((folder / OUT / "cells/mine/doubled-0/fp32.json").read_text("utf-8"))
    asked = [*cell["fixed"], *(r for found in cell["beyond"].values() for r in found)]
    assert len(asked) > 10
    assert sum(r["outcome"] == "hung" for r in asked) <= 2
    assert all(r["outcome"] == "hung" or "no answer too often" in r["skipped"] for r in asked)
    assert all(r["inputs"]["x"] for r in asked), "what it was not asked is still known"


def test_a_stack_that_was_missing_is_measured_once_it_is_there(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from kernel_contracts.stacks.base import stacks

    numpy = type(stacks()["numpy"])
    arguments = ("run", "exp", "--class", "C-CMP-03", "--dtype", "fp32", "--samples", 1, "--stacks", "numpy", "-o", OUT)
    with monkeypatch.context() as patched:
        patched.setattr(numpy, "available", lambda self: False)
        ended = kc(*arguments, "--seed", 5)
        assert ended.status == 3
        assert "not installed" in ended.out
    assert kc(*arguments).status == 0


def test_a_fault_of_ours_costs_its_cell_and_is_tried_again(folder: Path) -> None:
    assert kc("run", "two.kc", "--seed", 5, *ARGUMENTS).status == 0
    cell = folder / OUT / "cells/mine/doubled-0/fp32.json"
    data = json.loads(cell.read_text("utf-8"))
    data["result"]["verdict"] = "error"
    directory = RunDirectory(folder / OUT)
    directory.read_ledger()
    directory.put({"cells/mine/doubled-0/fp32.json": json.dumps(data)})
    again = kc("run", "two.kc", *ARGUMENTS)
    assert again.status == 0, again.err
    assert "1 of 2 cells were there already" in again.out


def test_a_measuring_process_that_dies_costs_one_cell(folder: Path) -> None:
    """Ours, not the kernel's: ended from outside at every try, the cell says so and the others are measured."""
    jobs = [p.job for p in planned(folder)]
    killed = 0
    with Workers(1) as workers:
        found = []
        for measured in workers.measure(jobs):
            found.append(measured.record["result"])
            if not killed:
                killed = 1
                workers.slots[0].process.kill()
    assert [r["verdict"] for r in found] == ["conforms", "conforms"]


def test_a_cell_at_which_our_process_dies_twice_is_an_error(folder: Path) -> None:
    (folder / "k.py").write_text(KILLS_ITS_PARENT, encoding="utf-8")
    ended = kc("run", "two.kc:doubled-0", "--seed", 5, *ARGUMENTS)
    assert ended.status == 4, ended.out
    assert "the measuring process ended with status" in ended.out


def test_a_stack_can_be_named_with_its_device(folder: Path) -> None:
    what = ("run", "exp", "--class", "C-CMP-03", "--dtype", "fp32", "--samples", 1, "--seed", 5, "-o", OUT)
    ended = kc(*what, "--stacks", "numpy:cpu,numpy:tpu")
    assert ended.status == 0, ended.err
    found = {k.partition("/")[0]: (r["verdict"], r["reason"]) for k, r in run_cases.results(folder / OUT).items()}
    assert found["numpy-cpu"][0] == "conforms"
    assert found["numpy-tpu"] == ("inapplicable", "stack numpy has no device 'tpu' here; it has cpu")

"""kill -9 at random moments and Ctrl-C: what is finished stays as it is, the rest is measured, nothing stays behind."""

from __future__ import annotations

import json
import os
import random
import signal
import sys
import time
from pathlib import Path

import pytest
import run_cases

sys.path.insert(0, str(Path(__file__).parents[1] / "cli"))
from test_cli_interrupt import alive, hear_interrupts

pytestmark = pytest.mark.skipif(not Path("/proc").is_dir(), reason="looks for processes in /proc")
ARGUMENTS = ("--kernel", "one=k.py:slow", "--kernel", "two=k.py:good", "--jobs", "2", "-o", "out")


def processes(root: Path) -> list[int]:
    """Processes that work in this folder."""
    found = []
    for entry in Path("/proc").iterdir():
        try:
            if entry.name.isdigit() and Path(os.readlink(entry / "cwd")) == root and alive(int(entry.name)):
                found.append(int(entry.name))
        except OSError:
            continue
    return found


def none_left(root: Path) -> bool:
    deadline = time.monotonic() + 30
    while time.monotonic() < deadline and processes(root):
        time.sleep(0.05)
    return not processes(root)


@pytest.mark.timeout(900)
@pytest.mark.parametrize("kills", [3, pytest.param(10, marks=pytest.mark.slow)])
def test_killed_at_random_a_run_loses_and_repeats_nothing(tmp_path: Path, kills: int) -> None:
    run_cases.written(tmp_path, contracts=2 * kills)
    root = tmp_path / "out"
    rng = random.Random(kills)
    known: dict[str, str] = {}
    killed = 0
    for _ in range(kills):
        running = run_cases.start(tmp_path, *ARGUMENTS)
        target = len(known) + rng.randint(0, 2)
        deadline = time.monotonic() + 120
        while running.poll() is None and len(run_cases.finished(root)) < target and time.monotonic() < deadline:
            time.sleep(0.005)
        time.sleep(rng.uniform(0, 0.3))
        killed += running.poll() is None
        running.send_signal(signal.SIGKILL)
        running.communicate(timeout=60)
        now = run_cases.finished(root)
        assert known.items() <= now.items(), "a finished cell is lost or was measured again"
        known = now
    assert killed == kills, "the run was at work each time"
    assert len(known) < 4 * kills, "something was left to do"
    last = run_cases.start(tmp_path, *ARGUMENTS)
    out, err = last.communicate(timeout=240)
    assert last.returncode == 0, err
    cells = run_cases.finished(root)
    assert known.items() <= cells.items()
    assert set(cells) == {f"cells/{c}.json" for c in json.loads((root / "manifest.json").read_text("utf-8"))["cells"]}
    paths = [e["path"] for e in run_cases.ledger(root)]
    assert len(paths) == len(set(paths)), "every file was entered once"
    assert {r["verdict"] for r in run_cases.results(root).values()} == {"conforms"}
    assert f"{len(known)} of {len(cells)} cells were there already" in out or not known
    assert none_left(tmp_path)


def test_a_half_written_line_of_the_ledger_is_cut_off(tmp_path: Path) -> None:
    run_cases.written(tmp_path)
    arguments = ("--kernel", "two=k.py:good", "-o", "out")
    assert run_cases.start(tmp_path, *arguments).wait(120) == 0
    place = tmp_path / "out" / "digests.jsonl"
    whole = place.read_bytes()
    place.write_bytes(whole[:-20])
    again = run_cases.start(tmp_path, *arguments)
    assert "1 of 2 cells were there already" in again.communicate(timeout=120)[0]
    assert len(run_cases.finished(tmp_path / "out")) == 2


def test_an_interrupt_leaves_the_finished_cells(tmp_path: Path) -> None:
    run_cases.written(tmp_path, contracts=20)
    running = run_cases.start(tmp_path, *ARGUMENTS, preexec_fn=hear_interrupts)
    deadline = time.monotonic() + 120
    while running.poll() is None and not run_cases.finished(tmp_path / "out") and time.monotonic() < deadline:
        time.sleep(0.005)
    running.send_signal(signal.SIGINT)
    out, err = running.communicate(timeout=60)
    assert running.returncode == 130, (out, err)
    assert err.strip() == "kc: interrupted; what was finished is written"
    assert 0 < len(run_cases.finished(tmp_path / "out")) < 40
    assert none_left(tmp_path)

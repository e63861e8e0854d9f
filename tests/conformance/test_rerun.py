"""Making certified calls again: what a signature cannot show, a kernel does."""

from __future__ import annotations

import hashlib
import json
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
import run_cases

KERNEL = """from pathlib import Path

import numpy as np

FACTOR = np.float32(Path(__file__).with_name("factor.txt").read_text())


def doubled(x):
    return x * FACTOR
"""
PROFILE = "profile p version 1 {\n  doubled-0 >= 1.0 at L1\n}\n"


def kc(folder: Path, *arguments: object) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "kernel_contracts", *map(str, arguments)], cwd=folder, env=run_cases.environment(),
        capture_output=True, text=True, timeout=240, check=False,
    )  # fmt: skip


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run of a kernel whose digest says nothing of the file that it reads, a profile and a key."""
    tmp_path = tmp_path_factory.mktemp("built")
    (tmp_path / "two.kc").write_text(run_cases.CONTRACT.format(k=0), encoding="utf-8")
    (tmp_path / "mine.py").write_text(KERNEL, encoding="utf-8")
    (tmp_path / "factor.txt").write_text("2", encoding="utf-8")
    (tmp_path / "p.kc").write_text(PROFILE, encoding="utf-8")
    ran = kc(tmp_path, "run", "two.kc", "--seed", 5, "--kernel", "mine=mine.py:doubled", "-o", "run")
    assert ran.returncode == 0, ran.stderr
    assert kc(tmp_path, "keygen", "-o", "key").returncode == 0
    return tmp_path


@pytest.fixture
def folder(built: Path, tmp_path: Path) -> Path:
    """A copy to do with as one likes."""
    return Path(shutil.copytree(built, tmp_path / "copy"))


def _certified(folder: Path) -> None:
    done = kc(folder, "certify", "run", "--profile", "p.kc", "--key", "key", "-o", "cert.json")
    assert done.returncode == 0, done.stdout + done.stderr


def _verified(folder: Path, *more: object) -> subprocess.CompletedProcess[str]:
    return kc(folder, "verify", "cert.json", "--pub", "key.pub", "--run", "run", *more)


def _rewrite(folder: Path, path: str, change: Callable[[str], str]) -> None:
    """A record as somebody who holds the key and the run can have it, with the ledger to match."""
    place, ledger = folder / "run" / path, folder / "run" / "digests.jsonl"
    old = hashlib.sha256(place.read_bytes()).hexdigest()
    place.write_text(change(place.read_text("utf-8")), encoding="utf-8")
    new = hashlib.sha256(place.read_bytes()).hexdigest()
    assert new != old
    ledger.write_text(ledger.read_text("utf-8").replace(old, new), encoding="utf-8")


def test_an_honest_certificate_holds_when_its_calls_are_made_again(folder: Path) -> None:
    _certified(folder)
    done = _verified(folder, "--rerun", 50, "--kernel", "mine.py:doubled")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "made again, none fails" in done.stdout
    assert done.stdout.endswith("valid\n")


@pytest.mark.parametrize("kernel", ["mine.py", "mine.py:doubled"])
def test_the_kernel_may_be_named_by_its_file_alone_whatever_else_is_asked(kernel: str, folder: Path) -> None:
    _certified(folder)
    done = _verified(folder, "--kernel", kernel, "--here", "--rerun", 2)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "2 of the certified calls made again, none fails" in done.stdout


def test_a_kernel_that_was_swapped_behind_its_digest_fails(folder: Path) -> None:
    _certified(folder)
    (folder / "factor.txt").write_text("2.001", encoding="utf-8")
    assert _verified(folder, "--kernel", "mine.py").returncode == 0
    done = _verified(folder, "--rerun", 50, "--kernel", "mine.py")
    assert done.returncode == 1
    assert "invalid  rerun: " in done.stdout


def test_evidence_invented_for_a_bad_kernel_fails(folder: Path) -> None:
    """The key's owner puts the digest of another kernel into the records of a good one, and certifies that."""
    bad = KERNEL.replace("x * FACTOR", "x * FACTOR * np.float32(1.001)")
    (folder / "bad.py").write_text(bad, encoding="utf-8")
    ours, theirs = (hashlib.sha256((folder / f).read_bytes()).hexdigest() for f in ("mine.py", "bad.py"))
    _rewrite(folder, "cells/mine/doubled-0/fp32.json", lambda text: text.replace(ours, theirs))
    _certified(folder)
    assert _verified(folder, "--kernel", "bad.py:doubled").returncode == 0
    done = _verified(folder, "--rerun", 50, "--kernel", "bad.py:doubled")
    assert done.returncode == 1
    assert "invalid  rerun: " in done.stdout


def test_records_invented_to_have_more_of_them_fail(folder: Path) -> None:
    def more(text: str) -> str:
        lines = [json.loads(line) for line in text.splitlines()]
        for line in lines:
            line["case"]["seed"] += 1
        return text + "".join(json.dumps(line) + "\n" for line in lines)

    _rewrite(folder, "traces/mine/doubled-0/fp32.jsonl", more)
    _certified(folder)
    done = _verified(folder, "--rerun", 1000)
    assert done.returncode == 1
    assert "invalid  rerun-inputs: " in done.stdout
    assert "invalid  rerun: " not in done.stdout


def test_a_kernel_that_is_not_here_gives_no_valid_certificate(folder: Path) -> None:
    _rewrite(folder, "cells/mine/doubled-0/fp32.json", lambda text: text.replace("/mine.py:", "/absent.py:"))
    _certified(folder)
    done = _verified(folder, "--rerun", 1)
    assert done.returncode == 1
    assert "invalid  rerun-impossible: " in done.stdout


@pytest.mark.parametrize("arguments", [("--rerun", 3), ("--kernel", "absent.py:f"), ("--run", "absent")])
def test_what_cannot_be_asked_is_a_usage_error(arguments: tuple[object, ...], folder: Path) -> None:
    _certified(folder)
    done = kc(folder, "verify", "cert.json", "--pub", "key.pub", *arguments)
    assert done.returncode == 2, done.stdout
    assert done.stderr.startswith("kc: ")
    assert len(done.stderr.splitlines()) == 1

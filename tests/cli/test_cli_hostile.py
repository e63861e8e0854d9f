"""Hostile kernels through `kc check`: each is called by its name, and the run goes on to its end."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import pytest
from kc import KERNELS, check, verdicts

MIXED = """
import ctypes
import numpy as np


def silu(x):
    return x / (1 + np.exp(-x))


def crash_on_long(x):
    if x.size > 16:
        ctypes.string_at(0)
    return silu(x)


def hang_on_strided(x):
    if not x.flags.c_contiguous:
        while True:
            pass
    return silu(x)


def raise_on_empty(x):
    if not x.size:
        raise ValueError("nothing to do")
    return silu(x)
"""
HOSTILE = [
    ("segfault", "crashed", "killed by SIGSEGV", ()),
    ("vanish", "crashed", "exited with status 3", ()),
    ("hang", "hung", "no answer within 0.2 s", ("--timeout", "0.2")),
    ("eat_memory", "out_of_memory", "", ("--memory", "256")),
    ("scribble", "input_mutated", "x changed during the call", ()),
    ("returns_nan", "overflowed", "elements NaN or infinite", ()),
    ("returns_fp64", "wrong_dtype", "y came back as fp64, the scope says fp32", ()),
    ("returns_scalar", "wrong_shape", "y came back with shape []", ()),
    ("returns_list", "wrong_type", "it is a list", ()),
    ("returns_none", "wrong_type", "NoneType", ()),
    ("returns_two", "wrong_count", "returned 2 array(s), the scope says 1", ()),
    ("unwritten", "", "", ()),
    ("honest", "", "", ()),
]  # fmt: skip


ONE_VALUE = ("--class", "C-CMP-01", "--class", "C-CMP-03", "--class", "C-PRC-03")
"""Classes that judge calls one by one."""


@pytest.mark.parametrize(("kernel", "signature", "detail", "limits"), HOSTILE, ids=[h[0] for h in HOSTILE])
def test_a_hostile_kernel_gets_its_own_signature(
    kernel: str, signature: str, detail: str, limits: tuple[str, ...], tmp_path: Path
) -> None:
    began = time.monotonic()
    ended = check(f"{KERNELS}:{kernel}", "--json", "-", "--keep", tmp_path, *ONE_VALUE, *limits)
    assert ended.status == 1
    every = ["silu-function fp32", "silu-shapes fp32", "silu-subnormal fp32"]
    assert list(verdicts(ended.lines)) == every, "every contract got its verdict"
    for record in ended.lines:
        assert record["verdict"] == "violates"
        assert record["signature"] == signature or not signature
        assert detail in record["detail"]
        assert Path(record["witness"]).is_file()
    assert "Traceback" not in ended.err
    assert time.monotonic() - began < 60


def given_up(record: dict[str, Any]) -> str:
    return next((n for n in record["notes"] if "cases not run" in n), "")


@pytest.mark.parametrize(
    ("kernel", "says", "limits"),
    [("segfault", "crashed 3 times", ()), ("hang", "hung 3 times", ("--timeout", "0.2"))],
)
def test_a_contract_is_given_up_after_three_in_a_row(
    kernel: str, says: str, limits: tuple[str, ...], tmp_path: Path
) -> None:
    ended = check(f"{KERNELS}:{kernel}", "--json", "-", "--keep", tmp_path, *limits, samples=40)
    for record in ended.lines:
        assert record["samples"] == record["failures"] == 3
        assert given_up(record).endswith(f"cases not run: the kernel {says}")
    assert f"the kernel {says}" in " ".join(ended.err.split()), "the note is part of the story"


@pytest.fixture
def mixed(tmp_path: Path) -> Path:
    path = tmp_path / "mixed.py"
    path.write_text(MIXED, encoding="utf-8")
    return path


def test_a_kernel_that_crashes_for_some_sizes_is_minimised(mixed: Path, tmp_path: Path) -> None:
    values = ("--class", "C-CMP-01", "--class", "C-CMP-03")
    ended = check(f"{mixed}:crash_on_long", "--json", "-", "--keep", tmp_path / "out", *values, samples=24)
    assert ended.status == 1
    for record in ended.lines:
        assert (record["verdict"], record["signature"]) == ("violates", "crashed")
        assert record["failures"] <= 5
        assert record["samples"] > record["failures"], "what it answers was measured too"
        assert given_up(record)
    assert "N = 17" in " ".join(ended.err.split())


def test_a_kernel_that_hangs_on_one_layout_keeps_the_contract_without_it(mixed: Path, tmp_path: Path) -> None:
    out = ("--json", "-", "--keep", tmp_path / "out")
    ended = check(f"{mixed}:hang_on_strided", *out, "--timeout", "0.3", *ONE_VALUE, samples=24)
    assert verdicts(ended.lines) == {
        "silu-function fp32": ("conforms", None), "silu-shapes fp32": ("violates", "hung"),
        "silu-subnormal fp32": ("violates", "hung"),
    }  # fmt: skip


def test_a_kernel_that_raises_for_some_sizes(mixed: Path, tmp_path: Path) -> None:
    ended = check(f"{mixed}:raise_on_empty", "--json", "-", "--keep", tmp_path / "out", samples=24)
    found = verdicts(ended.lines)
    assert found["silu-function fp32"] == ("conforms", None)
    assert found["silu-shapes fp32"] == ("violates", "raised")
    assert "ValueError: nothing to do" in ended.lines[1]["detail"]

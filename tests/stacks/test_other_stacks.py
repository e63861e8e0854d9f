"""The job for stacks that no test installs: its record is about its list, and a missing stack is told, not an error."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from kernel_contracts.stacks.base import VARIANT, stacks
from kernel_contracts.stacks.natives import natives

FOLDER = Path(__file__).parents[2] / "benchmarks"


@pytest.fixture(scope="module")
def job(script: Callable[[str], ModuleType]) -> ModuleType:
    return script("other_stacks")


@pytest.fixture(scope="module")
def record() -> dict[str, dict[str, Any]]:
    written = json.loads((FOLDER / "results" / "other_stacks.json").read_text("utf-8"))
    return {r["stack"]: r for r in written["stacks"]}


def test_what_is_recorded_is_what_is_listed(job: ModuleType, record: dict[str, dict[str, Any]]) -> None:
    listed = {o.stack: o for o in job.OTHERS}
    assert record.keys() <= listed.keys()
    for name, r in record.items():
        told = list(dict.fromkeys((c["operation"], c["class"]) for c in r.get("contracts", ())))
        assert "missing" in r or told == list(listed[name].contracts), name
        assert "missing" in r or r["broken"] == [], name


def test_every_stack_that_exists_is_known_with_what_it_is_measured_by(job: ModuleType) -> None:
    for other in job.OTHERS:
        plain, _, variant = other.stack.partition(VARIANT)
        if plain not in stacks():
            continue
        assert not variant or variant in stacks()[plain].variants
        assert stacks()[plain].requires[1] == other.extra
        assert {operation for operation, _ in other.contracts} <= natives(plain).keys()


def test_every_extra_with_a_stack_is_in_the_tests_or_in_this_job(job: ModuleType) -> None:
    project = tomllib.loads((FOLDER.parent / "pyproject.toml").read_text("utf-8"))["project"]
    extras = project["optional-dependencies"]
    tested = " ".join(extras["test"])
    left = {s.requires[1] for s in stacks().values() if s.requires[1] in extras and s.requires[1] not in tested}
    assert left <= {o.extra for o in job.OTHERS}


def test_a_stack_that_is_missing_is_told(job: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    absent = job.measured(job.Other("abacus", "abacus"), "")
    assert absent == {"stack": "abacus", "extra": "abacus", "missing": "this version has no stack abacus"}
    assert "missing: this version" in job.line(absent)
    monkeypatch.setattr(type(stacks()["triton"]), "available", lambda _: False)
    told = job.measured(job.Other("triton@interpreter", "triton", ()), "")
    assert told["missing"] == stacks()["triton"].install_hint()
    assert job.measured(job.Other("triton", "triton", ()), "no such wheel")["missing"] == "no such wheel"
    assert job.sound(absent)


def test_a_stack_is_measured(job: ModuleType) -> None:
    found = job.measured(job.Other("numpy@one-thread", "", (("relu", "C-EXC-01"),)), "")
    assert found["broken"] == []
    assert found["promises"] == 10
    assert [(c["contract"], c["verdict"]) for c in found["contracts"]] == [("relu-nan", "conforms")]
    assert job.sound(found)
    assert not job.sound({**found, "broken": [{"text": "", "broken": "some bits changed"}]})
    assert not job.sound({**found, "contracts": [{"verdict": "error"}]})

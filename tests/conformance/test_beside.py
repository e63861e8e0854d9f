"""The highest level needs other runs, of just the right kind; certificates that draw on them are checked with them."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import made_runs
import pytest
from made_runs import FINGERPRINT, Made, usual

from kernel_contracts.conformance import confirming
from kernel_contracts.conformance.beside import supported
from kernel_contracts.conformance.certificate import certify
from kernel_contracts.conformance.drift import changed, silicon
from kernel_contracts.conformance.levels import grade
from kernel_contracts.conformance.profiles import profile_from
from kernel_contracts.conformance.readings import read
from kernel_contracts.conformance.verifying import alone

NOW = datetime(2026, 6, 1, tzinfo=UTC)
OTHER: dict[str, Any] = {**FINGERPRINT, "arch": "aarch64", "cpu": {"model": "another"}}


def full() -> dict[str, Made]:
    cells = usual()
    for made in cells.values():
        made.oracle = "ball"
    return cells


def graded(tmp_path: Path, *others: Path, name: str = "values") -> tuple[int, tuple[str, ...]]:
    (reading,) = read([made_runs.write(tmp_path / "mine", full())])
    cells = supported(reading, [read([o])[0] for o in others])
    found = grade(next(h.grounds for h in cells.values() if h.cell.contract == name))
    return found.level, found.missing


def elsewhere(tmp_path: Path, **how: Any) -> Path:
    return made_runs.write(tmp_path / "elsewhere", how.pop("cells", full()), **{"fingerprint": OTHER, **how})


def before(tmp_path: Path, **how: Any) -> Path:
    return made_runs.write(tmp_path / "before", how.pop("cells", full()), **{"version": "1", **how})


def test_other_silicon_and_another_version_reach_the_highest_level(tmp_path: Path) -> None:
    assert graded(tmp_path, elsewhere(tmp_path), before(tmp_path)) == (4, ())


def test_an_old_kernel_is_a_version_too(tmp_path: Path) -> None:
    assert graded(tmp_path, elsewhere(tmp_path), before(tmp_path, version="2", kernel="b" * 64))[0] == 4


def violating() -> dict[str, Made]:
    return {k: replace(m, verdict="violates", failures=3) for k, m in full().items()}


def reworded() -> dict[str, Made]:
    """Another text of the same contract."""
    return {k: replace(m, clauses={**m.clauses, "pre": "N in 1..32 and finite(x)"}) for k, m in full().items()}


@pytest.mark.parametrize(
    "how",
    [
        {"fingerprint": FINGERPRINT},
        {"fingerprint": {**FINGERPRINT, "python": "3.99", "memory_mb": 1}},
        {"kernel": "b" * 64},
        {"cells": violating()},
        {"cells": reworded()},
        {"fingerprint": {"python": "3.12"}},
    ],
    ids=["same", "same silicon", "another kernel", "violates there", "another contract", "unknown silicon"],
)
def test_what_is_no_second_platform(how: dict[str, Any], tmp_path: Path) -> None:
    level, missing = graded(tmp_path, elsewhere(tmp_path, **how), before(tmp_path))
    assert level == 3
    assert [m.partition(":")[0] for m in missing] == ["a second platform"]


@pytest.mark.parametrize(
    "how",
    [
        {"version": "2"},
        {"cells": reworded()},
        {"cells": {"values": Made("values", "C-PRC-01", verdict="inapplicable", oracle="ball")}},
    ],
    ids=["same", "another contract", "not measured"],
)
def test_what_is_no_history(how: dict[str, Any], tmp_path: Path) -> None:
    level, missing = graded(tmp_path, elsewhere(tmp_path), before(tmp_path, **how))
    assert level == 3
    assert [m.partition(":")[0] for m in missing] == ["a history over versions"]


def test_a_version_that_violated_is_history(tmp_path: Path) -> None:
    assert graded(tmp_path, elsewhere(tmp_path), before(tmp_path, cells=violating()))[0] == 4


def statement(tmp_path: Path, beside: list[Path], profile: str = "  values >= 1.0 at L4\n") -> dict[str, Any]:
    (reading,) = read([made_runs.write(tmp_path / "mine", full())])
    wanted = profile_from(f"profile buyer version 1 {{\n{profile}}}\n")
    others = [read([b])[0] for b in beside]
    return certify(reading, "mine", wanted, days=30, now=NOW, beside=others).statement


def test_a_certificate_of_the_highest_level_is_checked_with_the_runs_it_draws_on(tmp_path: Path) -> None:
    beside = [elsewhere(tmp_path), before(tmp_path)]
    said = statement(tmp_path, beside)
    assert said["predicate"]["contracts"][0]["level"] == 4
    assert list(alone(said, NOW)) == []
    mine = tmp_path / "mine"
    assert list(confirming.run(said, mine, beside)) == []
    assert list(confirming.run(said, mine, beside[::-1])) == []
    for other in ([], beside[:1], [*beside, mine], [beside[0], mine]):
        assert [r.name for r in confirming.run(said, mine, other)] == ["beside"]


def test_a_change_is_of_one_kind() -> None:
    now = {
        **FINGERPRINT, "arch": "aarch64", "kernel": "7.0", "memory_mb": 9, "cpu": {"model": "made", "count": 64},
        "numpy": {"version": "3"}, "stack": {"name": "numpy", "device": "other"},
    }  # fmt: skip
    found = changed(FINGERPRINT, now)
    assert found == {
        "silicon": ["arch: x86_64 is now aarch64", "stack.device: nothing is now other"],
        "driver": ["kernel: nothing is now 7.0"],
        "runtime": ["numpy.version: nothing is now 3"],
    }
    assert changed(FINGERPRINT, {**FINGERPRINT, "memory_mb": 3}) == {}
    assert silicon(FINGERPRINT) != silicon(now)
    assert silicon({"python": "3"}) == ""


def test_a_change_voids_the_classes_that_are_to_be_measured_again(tmp_path: Path) -> None:
    now = {**OTHER, "python": "4"}
    said = statement(tmp_path, [], "  values >= 1.0 at L3\n")
    assert [r.name for r in confirming.here(said, now)] == ["silicon-changed", "runtime-changed"]
    assert "void for C-PRC-01" in next(confirming.here(said, now)).said
    assert list(confirming.here(said, {**FINGERPRINT, "memory_mb": 1})) == []


def test_a_change_leaves_other_classes_standing(tmp_path: Path) -> None:
    said = statement(tmp_path, [], "  shapes >= 1.0 at L2\n")
    assert list(confirming.here(said, OTHER)) == []

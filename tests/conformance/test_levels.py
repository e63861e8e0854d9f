"""Levels are computed from what a run holds: each run here lacks exactly one kind of evidence."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import made_runs
import pytest
from made_runs import INDICES, PROMISE, Made, usual

from kernel_contracts.conformance.grounds import held
from kernel_contracts.conformance.levels import FEWEST, Grade, Grounds, grade, grounds_from, upper95
from kernel_contracts.conformance.profiles import load_profile, profile_from, standings
from kernel_contracts.conformance.readings import read
from kernel_contracts.contracts.evidence import Verdict
from kernel_contracts.errors import UsageError

Cells = dict[str, Made]
Change = Callable[[Cells], object]


def _set(name: str, **changed: object) -> Change:
    def change(cells: Cells) -> None:
        for key, value in changed.items():
            setattr(cells[name], key, value)

    return change


def _promise(word: str) -> dict[str, str]:
    return {"post": PROMISE["post"].format(word)}


def _oracle(cells: Cells) -> None:
    cells["values"].oracle = "ball"


RUNS: dict[str, tuple[Change, str, int, tuple[str, ...]]] = {
    "everything": (lambda c: None, "values", 3, ("an independent oracle", "a second platform", "a history")),
    "with ball arithmetic": (_oracle, "values", 3, ("a second platform", "a history")),
    "violates": (_set("values", verdict="violates"), "values", 0, ("the kernel violates",)),
    "under-specified": (_set("values", verdict="under-specified"), "values", 0, ("the contract is under-specified",)),
    "no call": (_set("values", calls=0), "values", 0, ("nothing was measured",)),
    "refused": (_set("values", verdict="inapplicable"), "values", 0, ("nothing was measured",)),
    "a fault of ours": (_set("values", verdict="error"), "values", 0, ("nothing was measured",)),
    "undeclared": (_set("repeats", clauses={}), "repeats", 0, ("the contract declares no policy determinism",)),
    "inconclusive": (_set("values", verdict="inconclusive"), "values", 1, ("a verdict that it conforms",)),
    "failing calls": (_set("values", failures=1), "values", 1, ("a verdict that it conforms",)),
    "not calibrated": (_set("values", separates=None), "values", 1, ("a calibration that separates: ",)),
    "does not separate": (_set("values", separates=False), "values", 1, ("a calibration that separates; ",)),
    "determinism none": (_set("repeats", clauses=_promise("none")), "repeats", 1, ("a promise: determinism = none",)),
    "bounds undefined": (
        _set("values", clauses=INDICES, cls="C-EXC-02"), "values", 1, ("a promise: out_of_bounds = undefined",),
    ),
    "no held-out shapes": (_set("shapes", shape_family="tails(16)"), "values", 2, ("held-out shapes",)),
    "no schedules": (lambda c: c.pop("schedules"), "values", 2, ("schedules",)),
    "schedules violated": (_set("schedules", verdict="violates"), "values", 2, ("schedules",)),
    "no repeats": (lambda c: c.pop("repeats"), "values", 2, ("repeats",)),
    "repeats promise nothing": (_set("repeats", clauses=_promise("none")), "values", 2, ("repeats",)),
    "no 95% bound": (_set("values", calls=FEWEST - 1), "values", 2, ("a 95% bound",)),
}  # fmt: skip


def _grade(root: Path, cells: Cells, name: str) -> Grade:
    found = held(read([made_runs.write(root, cells)])[0])
    return next(grade(h.grounds) for c, h in found.items() if c.contract == name)


@pytest.mark.parametrize("run", RUNS)
def test_a_run_that_lacks_one_thing_has_the_level_below_it_and_says_so(run: str, tmp_path: Path) -> None:
    change, name, level, missing = RUNS[run]
    cells = usual()
    change(cells)
    found = _grade(tmp_path / "run", cells, name)
    assert found.level == level
    assert len(found.missing) == len(missing), found.missing
    assert all(said.startswith(words) for said, words in zip(found.missing, missing, strict=True)), found.missing


FULL = Grounds(
    Verdict.CONFORMS, bounded=40, exact=40, separates=True, held_out=1, schedules=1, repeats=1, independent=1,
    elsewhere=1, versions=1,
)  # fmt: skip


@pytest.mark.parametrize("lacking", ["independent", "elsewhere", "versions"])
def test_the_highest_level_needs_all_three(lacking: str) -> None:
    assert grade(FULL) == Grade(4, (), 4, 4)
    found = grade(replace(FULL, **{lacking: 0}))
    assert (found.level, len(found.missing)) == (3, 1)


def test_evidence_without_a_tolerance_is_graded_apart(tmp_path: Path) -> None:
    assert grade(replace(FULL, bounded=FEWEST - 1)) == Grade(4, (), 2, 4)
    assert grade(replace(FULL, exact=0)) == Grade(4, (), 4, None)
    cells = usual()
    cells["values"].exact = True
    assert _grade(tmp_path / "run", cells, "values").by_bound is None


def test_grounds_survive_being_written() -> None:
    found = replace(FULL, weak=("determinism = none",), reason="why")
    assert grounds_from(found.as_json()) == found
    with pytest.raises(ValueError):
        grounds_from({**found.as_json(), "level": 4})


def test_the_bound_is_stated_where_it_holds() -> None:
    assert upper95(FEWEST, 0) == 3 / FEWEST
    assert upper95(FEWEST - 1, 0) is None
    assert upper95(1000, 1) is None


PROFILE = "profile buyer version 1 {{\n  values {} at {}\n}}\n"


@pytest.mark.parametrize(
    ("asked", "level", "why"),
    [
        (">= 1.0", "L3", ""),
        (">= 1.10", "L3", "version 1.2 was measured"),
        ("== 1.2.0", "L3", ""),
        (">= 1.0", "L4", "L3 and L4 is asked for; fp32 lacks an independent oracle"),
    ],
)
def test_a_profile_decides(asked: str, level: str, why: str, tmp_path: Path) -> None:
    found = held(read([made_runs.write(tmp_path / "run", usual())])[0])
    (standing,) = standings(list(found.values()), profile_from(PROFILE.format(asked, level)))
    assert standing.refusal.startswith(why)
    assert bool(standing.refusal) is bool(why)


def test_a_contract_that_was_not_measured_is_not_held(tmp_path: Path) -> None:
    cells = usual()
    cells["values"].verdict = "inapplicable"
    found = held(read([made_runs.write(tmp_path / "run", cells)])[0])
    standing, other = standings(
        list(found.values()), profile_from("profile p version 1 {\n  values >= 1 at L1\n  absent >= 1 at L1\n}\n")
    )
    assert standing.refusal == "nothing was measured: made: inapplicable"
    assert other.refusal == "the run has no such contract"


def test_a_profile_file_that_cannot_be_used_is_said_so(tmp_path: Path) -> None:
    place = tmp_path / "p.kc"
    two = PROFILE.format(">= 1", "L1") + PROFILE.format(">= 1", "L1").replace("buyer", "seller")
    for text, place_text, words in (
        (PROFILE.format(">= 1", "L7"), "", "levels are L1, L2, L3, L4"),
        (made_runs.usual()["values"].text(), "", "defines no profile"),
        ("profile p version 1 {\n}\n", "", "asks for nothing"),
        (two, "", "has 2 profiles"),
        (two, ":nobody", "has no profile nobody"),
    ):
        place.write_text(text, encoding="utf-8")
        with pytest.raises(UsageError, match=words):
            load_profile(f"{place}{place_text}")
    assert load_profile(f"{place}:seller").name == "seller"

"""The scorecard counts what its records say, and its page says what there is: every contract, case and control."""

from __future__ import annotations

import json
import math
import re
from pathlib import Path

import pytest

from kernel_contracts.casebook import control_kernels, fault_cases, survivors
from kernel_contracts.casebook.running import Trial, class_of, trial, trial_names
from kernel_contracts.casebook.survivors import Survivor
from kernel_contracts.classes import classes
from kernel_contracts.contracts.catalogue import standard_library
from kernel_contracts.contracts.evidence import Verdict
from kernel_contracts.errors import UsageError
from kernel_contracts.scorecard import Record, holds, page, read_records, rows, trial_record
from kernel_contracts.vocabulary import vocabulary

PAGE = Path(__file__).parents[2] / "docs" / "scorecard.md"


def state(kind: str, ratio: float, verdict: str = "conforms", ok: bool = True) -> Record:
    return {"state": kind, "kernel": "k", "verdict": verdict, "signature": "", "ratio": ratio, "silent": True, "ok": ok}


def pair(*states: Record, killed: int = 3, valid: int = 4, left: tuple[str, ...] = (), fine: bool = True) -> Record:
    return {
        "record": "calibration", "contract": "c", "class": "C-PRC-01", "dtypes": {"P": "fp32"}, "separates": fine,
        "seed": 1, "states": list(states), "killed": killed, "valid": valid, "survivors": list(left), "seconds": 2.0,
    }  # fmt: skip


def tried(name: str, conforms: bool, verdict: Verdict, ok: bool, ratio: float = 0.0) -> Record:
    made = Trial(name, "C-PRC-01", "c", "fp32", conforms, verdict, "", ratio, 0.5, ok)
    return trial_record(made, 1)


GOOD = pair(
    state("good", 0.5), state("exact", 0.25), state("bad", 40.0, "violates"), state("baseline", math.inf, "violates"),
    left=("narrow(fp16): e",),
)  # fmt: skip


def test_a_class_is_counted() -> None:
    (row,) = rows(
        [GOOD, tried("s", True, Verdict.CONFORMS, True, 0.75), tried("f", False, Verdict.VIOLATES, True, 9.0)]
    )
    assert (row.pairs, row.separate, row.conforming, row.accusations, row.violating, row.misses) == (1, 1, 3, 0, 3, 0)
    assert (row.worst_good, row.least_bad, row.killed, row.valid, row.seconds) == (0.75, 9.0, 3, 4, 3.0)
    assert row.unexplained == 1


def test_an_accusation_and_a_miss_are_counted_and_end_the_run_with_1() -> None:
    accused = tried("s", True, Verdict.VIOLATES, False, 3.0)
    undecided = tried("t", True, Verdict.INCONCLUSIVE, False)
    missed = tried("f", False, Verdict.CONFORMS, False, 0.5)
    (row,) = rows([GOOD, accused, undecided, missed])
    assert (row.accusations, row.misses) == (2, 1)
    assert (row.worst_good, row.least_bad) == (0.5, 40.0), "only what went as it should says how far apart they are"
    assert holds([GOOD])
    for wrong in (accused, undecided, missed, pair(fine=False)):
        assert not holds([GOOD, wrong])


def test_a_bad_kernel_that_conforms_is_a_miss_and_a_baseline_that_is_refused_is_none() -> None:
    (row,) = rows([pair(state("bad", 0.5, "conforms", ok=False), state("baseline", 0.0, "inapplicable"))])
    assert (row.violating, row.misses) == (2, 1)


def test_every_survivor_is_on_the_page_with_its_reason(monkeypatch: pytest.MonkeyPatch) -> None:
    assert "**Not explained.**" in page([GOOD])
    assert "Measured: 1 pairs of contract and formats, 0 known kernels, seed 1." in page([GOOD])
    known = Survivor("c", ("fp32",), "narrow(fp16)", "Nothing overflows below 1000")
    monkeypatch.setattr(survivors, "SURVIVORS", (known,))
    text = page([GOOD])
    assert "narrow(fp16): e. Nothing overflows below 1000" in text
    assert "Not explained" not in text
    assert rows([GOOD])[0].unexplained == 0
    assert survivors.reason("c", ("fp16",), "narrow(fp16): e") == ""


def test_an_earlier_run_is_read_and_anything_else_refused(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_text(json.dumps(GOOD) + "\n" + json.dumps({"record": "other"}) + "\n", encoding="utf-8")
    assert read_records(path) == [GOOD]
    path.write_text("no json\n", encoding="utf-8")
    with pytest.raises(UsageError, match="name the file of an earlier --json"):
        read_records(path)


def test_a_trial_is_judged_by_verdict_and_name() -> None:
    (found,) = trial("O24 faulty", seed=2)
    assert found.ok
    assert (found.class_id, found.conforms, found.verdict) == ("C-CMP-01", False, Verdict.VIOLATES)
    assert found.signature == "rounding_skipped"
    (found,) = trial("O24 sibling", seed=2)
    assert (found.ok, found.conforms, found.verdict) == (True, True, Verdict.CONFORMS)


def test_every_trial_has_a_name_and_a_class() -> None:
    names = trial_names()
    assert len(names) == len(set(names)) == 2 * len(fault_cases()) + len(control_kernels())
    assert {class_of(n) for n in names} <= set(classes())


# ------------------------------------------------------------------------------------------- the page that is kept


def table(title: str) -> list[list[str]]:
    """The cells of the table below a heading of the kept page."""
    text = PAGE.read_text("utf-8")
    part = text.split(f"\n## {title}\n")[1].split("\n## ")[0] if title else text.split("\n## ")[0]
    lines = [line for line in part.splitlines() if line.startswith("| ")]
    return [[cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]] for line in lines[2:]]


def test_the_page_has_every_class() -> None:
    library = standard_library(vocabulary())
    assert [r[0] for r in table("")] == sorted({c.class_id for c in library})


def test_the_page_has_every_contract_with_its_formats() -> None:
    listed = {(r[0], r[1]): (set(r[2].split(", ")), r[3]) for r in table("Contracts")}
    library = {
        (f"`{c.name}`", c.class_id): ({f for choice in c.choices() for f in choice.values()} or {""}, len(c.bound))
        for c in standard_library(vocabulary())
    }
    assert {k: v[0] for k, v in listed.items()} == {k: v[0] for k, v in library.items()}
    assert {k: v[1] for k, v in listed.items()} == {k: f"{v[1]} of {v[1]}" for k, v in library.items()}


def test_the_page_has_every_case_and_control() -> None:
    assert sorted({r[0] for r in table("Cases and controls")}) == sorted(trial_names())


def test_the_page_accuses_nobody_and_misses_nothing() -> None:
    for row in table(""):
        assert (row[3], row[5]) == ("0", "0"), row
        assert row[8] != "not measured", row
        assert float(row[8].split("(")[1].rstrip("%)")) >= 95, row
    assert "**Not explained.**" not in PAGE.read_text("utf-8")

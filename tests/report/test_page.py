"""The report as text: what it says of made runs, what it refuses to read, how large it gets."""

from __future__ import annotations

import json
from pathlib import Path

import made_report
import pytest

from kernel_contracts.conformance.gathering import gather
from kernel_contracts.errors import UsageError
from kernel_contracts.report.measured import Measured
from kernel_contracts.report.page import Column, headline, report_page

LARGEST = 5_000_000
"""Bytes of a page of 50 contracts on 5 stacks."""


def written(run: Path, output: Path) -> Path:
    found = gather([run])
    output.write_text(report_page(found.source, found.columns, found.measured, found.comparison), encoding="utf-8")
    return output


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return made_report.write(tmp_path_factory.mktemp("made") / "run", 6, 3, 8)


def test_a_run_is_told_in_one_page(run: Path, tmp_path: Path) -> None:
    text = written(run, tmp_path / "report.html").read_text("utf-8")
    assert "jax breaks 2 of 6 contracts; numpy and torch break none." in text
    assert text.count('class="story"') == 2
    assert text.count('<p class="defect">tail_dropped: the tail along axis 1 is never written</p>') == 2
    assert "Where platforms differ" in text
    assert text.count("<details") >= 6
    assert "Error over the 256×241 elements of y: 16 of 256 blocks outside the bound." in text
    assert "Order in which 4 terms are added: sequential, depth 3." in text
    assert "http" not in text.replace("http-equiv", "")
    assert "<script" not in text


def test_fifty_contracts_on_five_stacks_stay_small(tmp_path: Path) -> None:
    page = written(made_report.write(tmp_path / "run"), tmp_path / "report.html")
    assert page.stat().st_size < LARGEST
    assert page.read_text("utf-8").count('class="panel"') == 250


def test_several_runs_stand_beside_each_other(run: Path, tmp_path: Path) -> None:
    other = made_report.write(tmp_path / "other", 6, 2, 4)
    found = gather([run, other])
    names = [c.name for c in found.columns]
    assert names == ["run: numpy", "run: torch", "run: jax", "other: numpy", "other: torch"]
    assert found.comparison is not None
    assert len(found.measured) == 6 * 5


def test_traces_alone_are_counted_and_not_judged(run: Path) -> None:
    cells = [p for p in (run / "cells" / "jax").rglob("*.json") if '"verdict": "violates"' in p.read_text("utf-8")]
    found = gather([run / "traces" / cells[0].relative_to(run / "cells").with_suffix(".jsonl")])
    (m,) = found.measured
    assert (m.verdict, m.samples) == ("not judged", 8)
    assert m.failures == sum(c.fails for c in m.calls) > 0
    assert f"{m.failures} of 8 calls lie outside the bound." in report_page(found.source, found.columns, [m])


def test_results_and_their_traces_find_each_other(run: Path, tmp_path: Path) -> None:
    cell = next((run / "cells" / "jax").rglob("*.json"))
    result = json.loads(cell.read_text("utf-8"))["result"]
    trace = run / "traces" / cell.relative_to(run / "cells").with_suffix(".jsonl")
    lines = [json.loads(line) for line in trace.read_text("utf-8").splitlines()]
    for line in lines:
        line["case"]["dtypes"] = result["dtypes"]
    kept = tmp_path / "kept"
    kept.mkdir()
    (kept / "results.jsonl").write_text(json.dumps(result) + "\n")
    (kept / "traces.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    (m,) = gather([kept]).measured
    assert (m.verdict, len(m.calls)) == (result["verdict"], 8)


def test_a_trace_without_the_place_of_its_errors_is_shown_with_what_it_has(run: Path, tmp_path: Path) -> None:
    lines = next((run / "traces" / "jax").rglob("*.jsonl")).read_text("utf-8").splitlines()
    records = [json.loads(line) for line in lines]
    for record in records:
        del record["outputs"][0]["extent"]
    old = tmp_path / "old.jsonl"
    old.write_text("".join(json.dumps(r) + "\n" for r in records))
    found = gather([old])
    text = report_page(found.source, found.columns, found.measured)
    assert "measure again to see it" in text
    assert "calls by error as a share of the bound" in text
    assert "where the error lies in" not in text


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (None, "there is no "),
        ("", "nothing was measured there yet"),
        ("{}\n", ":1 is no result or trace"),
        ("not json\n", ":1 is no result or trace"),
        ('{"record": "trace", "schema": 0}\n', ":1 is of version 0 of the records"),
        ("\udcff", "cannot be read: it is not text"),
    ],
)
def test_what_is_no_evidence_is_refused_in_one_sentence(tmp_path: Path, content: str | None, words: str) -> None:
    place = tmp_path / "given.jsonl"
    if content is not None:
        place.write_bytes(content.encode("utf-8", "surrogateescape"))
    with pytest.raises(UsageError, match=words) as found:
        gather([place])
    assert "\n" not in str(found.value)


def test_a_folder_of_something_else_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"no run directory .* and no folder of kc check --keep"):
        gather([tmp_path])


def test_a_tree_that_is_none_is_refused(run: Path, tmp_path: Path) -> None:
    lines = next((run / "traces" / "jax").rglob("*.jsonl")).read_text("utf-8").splitlines()
    for tree in ("0+9", "0+1 0+2", "x"):
        record = json.loads(lines[0])
        record["facts"]["order_tree"] = tree
        (tmp_path / "t.jsonl").write_text(json.dumps(record) + "\n")
        with pytest.raises(UsageError, match=r"t\.jsonl:1 is no result or trace"):
            gather([tmp_path / "t.jsonl"])


def judged(column: str, verdict: str) -> Measured:
    return Measured(column, "c", "1.0", "C-PRC-01", "sum", "fp32", f"{column}{verdict}", verdict)


@pytest.mark.parametrize(
    ("verdicts", "said"),
    [
        ({"a": ["conforms", "conforms"]}, "a keeps all 2 contracts."),
        ({"a": ["conforms", "inconclusive"]}, "a: 1 of 2 contracts kept."),
        ({"a": ["conforms", "inapplicable"], "b": ["conforms"]}, "2 platforms keep every contract that they offer."),
        ({"a": ["conforms"], "b": ["inconclusive"]}, "2 platforms keep their contracts in 1 of 2 cells."),
        ({"a": ["violates", "conforms"], "b": ["conforms"]}, "a breaks 1 of 2 contracts; b breaks none."),
        ({"a": ["violates"]}, "a breaks 1 of 1 contracts."),
    ],
)
def test_the_headline_says_who_breaks_what(verdicts: dict[str, list[str]], said: str) -> None:
    measured = [judged(c, v) for c, found in verdicts.items() for v in found]
    assert headline([Column(c, "") for c in verdicts], measured) == said

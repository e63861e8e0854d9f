"""`kc fmt`, `lint`, `list`, `explain`, `show`, `schema`, `tolerance`."""

from __future__ import annotations

import json
from pathlib import Path

import jsonschema
import pytest
from kc import kc

from kernel_contracts.cli.inspect import LISTS
from kernel_contracts.contracts.catalogue import LIBRARY, standard_library
from kernel_contracts.contracts.codec import schema, to_json
from kernel_contracts.language.diagnostics import CODES
from kernel_contracts.language.printer import format_source
from kernel_contracts.vocabulary import vocabulary

UGLY = """# kept
contract   c version 1.0 implements C-CMP-01 {
scope f (x:fp32[N])->y:fp32[N]
  post y within tolerance of reference   # why
tolerance derived
reference{y=x+x}
}
"""


def test_fmt_writes_the_canonical_form_once(tmp_path: Path) -> None:
    path = tmp_path / "a.kc"
    path.write_text(UGLY, encoding="utf-8")
    checked = kc("fmt", "--check", path)
    assert (checked.status, checked.out) == (1, f"would change {path}\n")
    assert path.read_text("utf-8") == UGLY
    assert kc("fmt", tmp_path).out == f"formatted {path}\n"
    assert path.read_text("utf-8") == format_source(UGLY)
    assert "# kept" in path.read_text("utf-8")
    again = kc("fmt", "--check", path)
    assert (again.status, again.out) == (0, "")


def test_the_library_is_canonical_and_free_of_mistakes() -> None:
    assert kc("fmt", "--check", LIBRARY).status == 0
    linted = kc("lint", LIBRARY)
    assert linted.status == 0
    assert linted.out.strip().endswith(f"{len(standard_library(vocabulary()))} contract(s) checked, 0 error(s)")


def test_lint_reports_errors_and_advice(tmp_path: Path) -> None:
    (tmp_path / "a.kc").write_text(UGLY.replace("x+x", "x+z"), encoding="utf-8")
    (tmp_path / "b.kc").write_text(UGLY, encoding="utf-8")
    found = kc("lint", tmp_path)
    assert found.status == 2
    assert f"N201 the name z is not known here\n  {tmp_path / 'a.kc'}:6:15" in found.out
    assert "1 contract(s) checked, 1 error(s)" in found.out
    assert "warning" in kc("lint", tmp_path / "b.kc").out


@pytest.mark.parametrize("what", sorted(LISTS))
def test_every_list_has_entries_with_a_text(what: str) -> None:
    ended = kc("list", what)
    assert ended.status == 0
    lines = ended.out.splitlines()
    assert len(lines) == len(LISTS[what]()) >= 2
    assert all(len(line.split(maxsplit=1)) == 2 for line in lines)
    assert kc("list").out == kc("list", "operations").out


@pytest.mark.parametrize(
    ("what", "says"),
    [
        ("S402", "tighter than the output format's own rounding"), ("L601", ""), ("P101", ""),
        ("C-PRC-01", "mutants it must catch: accumulate"),
        ("gemm-accumulator", "contract gemm-accumulator version 1.0"),
        ("softmax", "contract softmax-stable"), ("accumulator_narrowed", "Sums kept in fewer bits"),
    ],
)  # fmt: skip
def test_explain(what: str, says: str) -> None:
    ended = kc("explain", what)
    assert ended.status == 0
    assert says in ended.out
    assert what in ended.out or what in CODES


def test_show_prints_the_canonical_text(tmp_path: Path) -> None:
    shown = kc("show", "silu-function")
    contract = next(c for c in standard_library(vocabulary()) if c.name == "silu-function")
    assert shown.out == contract.source
    both = kc("show", "silu").out
    assert both.startswith(contract.source)
    assert "contract silu-shapes" in both
    path = tmp_path / "c.kc"
    path.write_text(UGLY, encoding="utf-8")
    for name in (str(path), f"{path}:c"):
        assert kc("show", name).out == format_source(UGLY.split("\n", 1)[1].replace("   # why", ""))
    assert kc("show", f"{path}:d").status == 2


def test_show_as_json_is_one_valid_object_a_contract() -> None:
    ended = kc("show", "matmul", "--json")
    records = ended.lines
    library = {c.name: c for c in standard_library(vocabulary())}
    assert ended.out.count("\n") == len(records) == sum(c.operation == "matmul" for c in library.values()) > 1
    for record in records:
        jsonschema.Draft202012Validator(schema()).validate(record)
        assert record == json.loads(json.dumps(to_json(library[record["name"]])))


def test_the_schemas_are_printed() -> None:
    for arguments, title in (
        ((), "results and traces"),
        (("records",), "results and traces"),
        (("contracts",), "contract"),
    ):
        printed = json.loads(kc("schema", *arguments).out)
        jsonschema.Draft202012Validator.check_schema(printed)
        assert title in printed["title"]


def test_tolerance_is_said_in_numbers() -> None:
    ended = kc("tolerance", "softmax", "--dtype", "bf16", "--shape", "4x128")
    assert ended.status == 0
    assert ended.out.strip()

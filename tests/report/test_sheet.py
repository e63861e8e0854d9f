"""The certificate as a sheet: it says what the file says, and who it must not be mistaken for."""

from __future__ import annotations

import json
import sys
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from kernel_contracts.conformance.certificate import certify
from kernel_contracts.conformance.profiles import load_profile
from kernel_contracts.conformance.readings import read
from kernel_contracts.conformance.showing import statement_of
from kernel_contracts.errors import UsageError
from kernel_contracts.report.sheet import certificate_page

sys.path.append(str(Path(__file__).parents[1] / "conformance"))
import made_runs

PROFILE = """profile made version 3 {
  values  >= 1.0 at L2
  repeats >= 1.0 at L2
}
"""


@cache
def statement() -> str:
    """Of a run that keeps one contract and breaks the other."""
    with TemporaryDirectory() as folder:
        root = Path(folder)
        cells = made_runs.usual()
        cells["repeats"].verdict = "violates"
        run = made_runs.write(root / "run", cells)
        (root / "p.kc").write_text(PROFILE)
        (reading,) = read([run])
        now = datetime(2026, 3, 4, tzinfo=UTC)
        return json.dumps(certify(reading, "mine", load_profile(str(root / "p.kc")), days=100, now=now).statement)


def sheet(name: str = "cert.json") -> str:
    return certificate_page(json.loads(statement()), ["k" * 64], name)


def test_a_sheet_says_what_until_when_and_how_to_verify() -> None:
    text = sheet()
    for words in (
        "profile made 3", "does not hold all of", "values 1.2", "1 refused", "repeats: ", "2026-03-04", "2026-06-12",
        "kc verify cert.json --pub KEY.pub", "Not claimed", "speed, memory or energy", made_runs.KERNEL,
        json.loads(statement())["predicate"]["evidence"]["root"], "x86_64 made",
    ):  # fmt: skip
        assert words in text, words
    assert "http" not in text.replace("http-equiv", "")


def test_text_of_a_stranger_stays_text() -> None:
    said = json.loads(statement())
    said["predicate"]["platform"]["name"] = "<script>alert(1)</script>"
    text = certificate_page(said, [], "<b>.json")
    assert "<script" not in text
    assert "&lt;script&gt;" in text
    assert "<b>.json" not in text


@pytest.mark.parametrize("content", [None, "", "{}", "[1]", '{"payload": "x"}'])
def test_what_is_no_certificate_is_refused_in_one_sentence(tmp_path: Path, content: str | None) -> None:
    place = tmp_path / "cert.json"
    if content is not None:
        place.write_text(content)
    with pytest.raises(UsageError, match=r"cannot read|is no certificate") as found:
        statement_of(place)
    assert "\n" not in str(found.value)

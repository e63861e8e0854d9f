"""What a comparison refuses: other contracts, seeds and inputs, missing cells, files that were changed."""

from __future__ import annotations

import base64
import hashlib
import json
import shutil
import sys
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jsonschema
import numpy as np
import pytest
import run_cases

sys.path.insert(0, str(Path(__file__).parents[1] / "cli"))
from kc import kc, one_sentence

from kernel_contracts.checking import contracts_for
from kernel_contracts.conformance.directory import RunDirectory
from kernel_contracts.conformance.fixed import fixed_cases, inputs_of
from kernel_contracts.conformance.recording import array_digest
from kernel_contracts.measurement.emulated import Emulated
from kernel_contracts.measurement.session import Session
from kernel_contracts.numerics.rounding import to_storage
from kernel_contracts.oracles import ladder
from kernel_contracts.report.records import schema

CELL = "cells/mine/doubled-0/fp32.json"


@pytest.fixture(scope="module")
def measured(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two runs of one kernel."""
    folder = run_cases.written(tmp_path_factory.mktemp("measured"))
    for name in ("a", "b"):
        running = run_cases.start(folder, "--kernel", "mine=k.py:good", "-o", name)
        assert running.wait(120) == 0
    return folder


@pytest.fixture
def folder(measured: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of them to spoil."""
    for name in ("a", "b"):
        shutil.copytree(measured / name, tmp_path / name)
    for name in ("k.py", "two.kc"):
        shutil.copy(measured / name, tmp_path / name)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def rewrite(root: Path, path: str, change: Callable[[Any], None]) -> None:
    """A file changed by somebody who knows how to keep the ledger right."""
    directory = RunDirectory(root)
    directory.read_ledger()
    data = json.loads(directory.text(path))
    change(data)
    directory.put({path: json.dumps(data)})


def compared(*arguments: object) -> tuple[int, dict[str, Any]]:
    ended = kc("compare", "a", "b", "--json", "-", *arguments)
    assert "Traceback" not in ended.err
    return ended.status, json.loads(ended.out)


def test_two_runs_of_one_kernel_have_the_same_bits(folder: Path) -> None:
    status, found = compared()
    assert status == found["status"] == 0
    assert found["counts"]["identical bits"] == 2
    assert found["matrix"][0] | {"unshared": 0} == {
        "a": "a:mine", "b": "b:mine", "cells": 2, "identical": 2, "within": 2, "not_comparable": 0, "unshared": 0,
    }  # fmt: skip


def test_what_is_written_is_of_the_published_schema(folder: Path) -> None:
    validator = jsonschema.Draft202012Validator(schema("runs"))
    for path in ("manifest.json", CELL):
        validator.validate(json.loads((folder / "a" / path).read_text("utf-8")))
    validator.validate(compared()[1])
    with pytest.raises(jsonschema.ValidationError):
        validator.validate({**compared()[1], "status": 3})


def test_a_run_can_be_carried_elsewhere(folder: Path) -> None:
    shutil.move(folder / "b", folder / "carried" / "b")
    (folder / "k.py").unlink()
    (folder / "two.kc").unlink()
    assert kc("compare", "a", "carried/b").status == 0


def test_a_run_in_progress_is_not_compared(folder: Path) -> None:
    with RunDirectory(folder / "b").locked():
        assert "kc run is still writing to b" in one_sentence(kc("compare", "a", "b"))


def test_a_changed_file_is_refused(folder: Path) -> None:
    place = folder / "b" / CELL
    place.write_text(place.read_text("utf-8").replace('"conforms"', '"violates"'), encoding="utf-8")
    ended = kc("compare", "a", "b")
    assert ended.status == 2
    assert "was changed after the run" in one_sentence(ended)


@pytest.mark.parametrize("path", ["contracts/doubled-0.kc", "manifest.json", "traces/mine/doubled-1/fp32.jsonl"])
def test_a_change_anywhere_is_refused(folder: Path, path: str) -> None:
    with (folder / "b" / path).open("a", encoding="utf-8") as stream:
        stream.write(" ")
    ended = kc("compare", "a", "b")
    assert (ended.status, "was changed after the run" in one_sentence(ended)) == (2, True)


def test_a_file_from_elsewhere_is_refused(folder: Path) -> None:
    shutil.copy(folder / "a" / CELL, folder / "b" / "cells" / "mine" / "doubled-0" / "fp16.json")
    assert "was put there afterwards" in one_sentence(kc("compare", "a", "b"))


def test_an_answer_that_is_not_the_one_of_its_digest_is_refused(folder: Path) -> None:
    def forge(cell: Any) -> None:
        output = cell["fixed"][0]["outputs"][0]
        raw = bytearray(zlib.decompress(base64.b64decode(output["bytes"])))
        raw[0] ^= 1
        output["bytes"] = base64.b64encode(zlib.compress(bytes(raw))).decode()

    rewrite(folder / "b", CELL, forge)
    ended = kc("compare", "a", "b")
    assert ended.status == 2
    assert "an output is not the one of its digest" in one_sentence(ended)


def reason(found: dict[str, Any], contract: str = "doubled-0") -> str:
    row = next(r for r in found["rows"] if r["contract"] == contract)
    assert row["ruling"] == "not comparable"
    return str(row["reason"])


def test_other_inputs_are_not_comparable(folder: Path) -> None:
    rewrite(folder / "b", CELL, lambda cell: cell["fixed"][0]["inputs"].update(x="0" * 64))
    status, found = compared()
    assert status == 2
    assert "differ, though their seeds are the same" in reason(found)


def test_inputs_that_cannot_be_made_again_are_not_comparable(folder: Path) -> None:
    for name in ("a", "b"):
        rewrite(folder / name, CELL, lambda cell: cell["fixed"][0]["inputs"].update(x="0" * 64))
    status, found = compared()
    assert status == 2
    assert "cannot be made again here" in reason(found)


def test_another_seed_is_not_comparable(folder: Path) -> None:
    shutil.rmtree(folder / "b")
    assert kc("run", "two.kc", "--seed", 6, "--kernel", "mine=k.py:good", "-o", "b").status == 0
    status, found = compared()
    assert status == 2
    assert "other seeds (5 and 6)" in reason(found)


def test_another_contract_is_not_comparable(folder: Path) -> None:
    shutil.rmtree(folder / "b")
    text = (folder / "two.kc").read_text("utf-8").replace("doubled-1", "other")
    (folder / "two.kc").write_text(text.replace("1..64", "1..32", 1), encoding="utf-8")
    assert kc("run", "two.kc", "--seed", 5, "--kernel", "mine=k.py:good", "-o", "b").status == 0
    status, found = compared()
    assert status == 2
    assert "reads differently in the two runs" in reason(found)
    assert reason(found, "doubled-1") == "run b does not have the contract"
    assert reason(found, "other") == "run a does not have the contract"


def test_an_unfinished_cell_is_not_comparable(folder: Path) -> None:
    lines = (folder / "b" / "digests.jsonl").read_text("utf-8").splitlines()
    kept = [line for line in lines if "doubled-0/" not in line]
    (folder / "b" / "digests.jsonl").write_text("\n".join(kept) + "\n", encoding="utf-8")
    for path in ("cells/mine/doubled-0", "traces/mine/doubled-0"):
        shutil.rmtree(folder / "b" / path)
    status, found = compared()
    assert status == 2
    assert reason(found) == "b:mine has not finished this cell"


def test_a_difference_across_runs_is_arbitrated(folder: Path) -> None:
    shutil.rmtree(folder / "b")
    assert kc("run", "two.kc", "--seed", 5, "--kernel", "theirs=k.py:wrong", "-o", "b").status == 1
    status, found = compared()
    assert status == 1
    assert {(r["a"], r["b"], r["ruling"]) for r in found["rows"]} == {("a:mine", "b:theirs", "B violates")}
    assert all(r["signature_b"] for r in found["rows"])


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("a",), "there is only one platform"),
        (("a", "a"), "the same run is named twice"),
        (("a", "gone"), "there is no run gone"),
        (("a", "."), "is no run directory"),
        (("a", "b", "--platform", "thine"), "there is no platform thine"),
        (("a", "b", "--json", "gone/x.json"), "cannot write gone/x.json"),
    ],
)
def test_what_cannot_be_compared_is_said_in_one_sentence(folder: Path, arguments: tuple[str, ...], says: str) -> None:
    ended = kc("compare", *arguments)
    assert ended.status == 2
    assert says in one_sentence(ended)


def test_a_digest_does_not_depend_on_how_an_array_lies_in_memory() -> None:
    plain = np.arange(6, dtype="<f4").reshape(2, 3)
    swapped = plain.astype(">f4")
    assert array_digest(plain) == array_digest(swapped) == array_digest(np.asfortranarray(plain))
    assert array_digest(plain) != array_digest(plain.reshape(3, 2))


PINNED = {
    "total": "4da247b7db9f1870",
    "product": "0574a7c377f1e809",
    "rows": "96b89938acbaa3c8",
    "multiply-add": "0acbdd295ee82289",
}
"""Digest over the digests of every fixed input of a contract, at seed 5."""


@pytest.mark.parametrize("name", PINNED)
def test_the_fixed_inputs_are_the_same_on_every_machine(name: str) -> None:
    """A function of the seed and the contract alone: these digests hold wherever this test runs."""
    (contract,) = contracts_for(None, f"{Path(__file__).parent / 'kernels' / 'contracts.kc'}:{name}")
    (bound,) = contract.bound
    session = Session(contract, bound, Emulated(contract, bound), ladder())
    found = hashlib.sha256()
    for case in fixed_cases(contract, bound, 5):
        inputs = inputs_of(session, case)
        for t in contract.inputs:
            found.update(array_digest(to_storage(inputs[t.name], bound.inputs[t.name])).encode())
    assert found.hexdigest()[:16] == PINNED[name]


def test_a_reference_in_python_does_not_travel_and_is_not_run_from_a_run(folder: Path) -> None:
    """A run from elsewhere is data: code that lies in its folder is never executed."""
    text = (folder / "two.kc").read_text("utf-8").split("\ncontract ")[0]
    (folder / "own.kc").write_text(
        text.replace("reference { y = x + x in fp32 }", 'reference python "ref.py:twice"'), encoding="utf-8"
    )
    (folder / "ref.py").write_text("def twice(x):\n    return x + x\n", encoding="utf-8")
    for name in ("c", "d"):
        assert kc("run", "own.kc", "--seed", 5, "--kernel", "mine=k.py:good", "-o", name).status == 0
        directory = RunDirectory(folder / name)
        directory.read_ledger()
        directory.put({"contracts/ref.py": "open('executed', 'w')\n"})
    ended = kc("compare", "c", "d")
    assert ended.status == 2
    assert "Python code in a file, which is not taken from a run" in " ".join(ended.out.split())
    assert not (folder / "executed").exists()

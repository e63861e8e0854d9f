"""A witness: every bit of the inputs comes back, and a file that is none says so."""

from __future__ import annotations

import base64
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from kernel_contracts.contracts.evidence import Case, Layout
from kernel_contracts.errors import UsageError
from kernel_contracts.formats import FORMATS
from kernel_contracts.measurement.witness import Witness, case_from, case_json, load
from kernel_contracts.numerics.rounding import from_storage, round_to, storage_dtype, to_storage

CASE = Case(3, "cancelling(1e+06)", {"P": "bf16"}, {"M": 2, "N": 3}, {"eps": 1e-5, "causal": True, "k": 2},
            Layout.STRIDED, 2**62 + 1, "tails(16)")  # fmt: skip


def witness(inputs: dict[str, np.ndarray], formats: dict[str, str], **given: Any) -> Witness:
    seen = {"output": "y", "index": [0, 1], "got": float("nan"), "oracle": 1.5, "tolerance": 0.1, "ratio": float("inf")}
    made = Witness(
        "contract text", "c", CASE, inputs, formats, "k.py:f", "numpy", "cpu", "raised", "why", seen, {"os": "x"}
    )
    return replace(made, **given)


def values(fmt: str, size: int = 40) -> np.ndarray:
    """Ordinary numbers and every special one of the format."""
    f, rng = FORMATS[fmt], np.random.default_rng(2)
    if f.kind == "bool":
        return rng.integers(0, 2, size).astype(bool)
    if f.kind == "int":
        return np.concatenate([[f.min_int, f.max_int, 0], rng.integers(0, 100, size)]).astype(np.int64)
    special = [0.0, -0.0, f.max_finite, f.least_normal, f.least_subnormal] + ([-f.max_finite] if f.signed else [])
    special += [np.inf, -np.inf] if f.overflow == "inf" else []
    return np.concatenate([round_to(np.abs(rng.normal(size=size)), f), np.array(special)])


@pytest.mark.parametrize("fmt", list(FORMATS))
def test_every_format_comes_back_bit_for_bit(fmt: str, tmp_path: Path) -> None:
    x = np.asarray(from_storage(to_storage(values(fmt), FORMATS[fmt])))
    witness({"x": x.reshape(1, -1)}, {"x": fmt}).save(tmp_path / "w.json")
    found = load(tmp_path / "w.json")
    assert found.formats == {"x": fmt}
    assert found.inputs["x"].shape == (1, x.size)
    assert found.inputs["x"].dtype == x.dtype
    before, after = (to_storage(a.reshape(-1), FORMATS[fmt]).tobytes() for a in (x, found.inputs["x"]))
    assert before == after


@pytest.mark.parametrize("fmt", [n for n, f in FORMATS.items() if f.kind == "real"])
def test_nan_comes_back_as_nan(fmt: str, tmp_path: Path) -> None:
    with np.errstate(invalid="ignore"):
        x = np.asarray(from_storage(to_storage(np.array([1.0, np.nan]), FORMATS[fmt])))
    witness({"x": x}, {"x": fmt}).save(tmp_path / "w.json")
    assert np.array_equal(load(tmp_path / "w.json").inputs["x"], x, equal_nan=True)


def test_everything_else_comes_back(tmp_path: Path) -> None:
    made = witness({"x": np.ones((2, 3))}, {"x": "fp32"}, path="/some/where.kc")
    made.save(tmp_path / "deep" / "folder" / "w.json")
    found = load(tmp_path / "deep" / "folder" / "w.json")
    assert found.case == CASE
    assert np.isnan(found.seen["got"])
    assert found.seen["ratio"] == float("inf")
    for field in ("source", "contract", "target", "stack", "device", "signature", "detail", "platform", "path"):
        assert getattr(found, field) == getattr(made, field)
    assert case_from(json.loads(json.dumps(case_json(CASE)))) == CASE


def test_small_arrays_are_readable_and_large_ones_are_bytes(tmp_path: Path) -> None:
    witness({"x": np.ones(256), "z": np.ones(257), "e": np.zeros((0, 4))},
            {"x": "bf16", "z": "bf16", "e": "fp32"}).save(tmp_path / "w.json")  # fmt: skip
    data = json.loads((tmp_path / "w.json").read_text("utf-8"))
    assert data["inputs"]["x"]["values"] == [1.0] * 256
    assert "values" not in data["inputs"]["z"]
    assert len(base64.b64decode(data["inputs"]["z"]["bytes"])) == 257 * storage_dtype(FORMATS["bf16"]).itemsize
    assert load(tmp_path / "w.json").inputs["e"].shape == (0, 4)


DAMAGES: dict[str, Any] = {
    "not json": lambda d: "{",
    "a list": lambda d: [1, 2],
    "a number": lambda d: 3,
    "no version": lambda d: {k: v for k, v in d.items() if k != "version"},
    "another version": lambda d: {**d, "version": 99},
    "no case": lambda d: {k: v for k, v in d.items() if k != "case"},
    "case of another kind": lambda d: {**d, "case": [1]},
    "case with more": lambda d: {**d, "case": {**d["case"], "colour": "red"}},
    "unknown layout": lambda d: {**d, "case": {**d["case"], "layout": "spiral"}},
    "inputs as a list": lambda d: {**d, "inputs": []},
    "an input without bytes": lambda d: {**d, "inputs": {"x": {"format": "fp32", "shape": [2, 3]}}},
    "bytes that are none": lambda d: {**d, "inputs": {"x": {"format": "fp32", "shape": [2, 3], "bytes": "###"}}},
    "too few bytes": lambda d: {**d, "inputs": {"x": {"format": "fp32", "shape": [2, 3], "bytes": "AAAA"}}},
    "unknown format": lambda d: {**d, "inputs": {"x": {**d["inputs"]["x"], "format": "fp31"}}},
    "another shape": lambda d: {**d, "inputs": {"x": {**d["inputs"]["x"], "shape": [5]}}},
    "seen is a text": lambda d: {**d, "seen": "much"},
    "no target": lambda d: {k: v for k, v in d.items() if k != "target"},
    "platform is a number": lambda d: {**d, "platform": 3},
}


@pytest.mark.parametrize("name", sorted(DAMAGES))
def test_a_damaged_file_is_a_usage_error_in_one_sentence(name: str, tmp_path: Path) -> None:
    path = tmp_path / "w.json"
    witness({"x": np.ones((2, 3))}, {"x": "fp32"}).save(path)
    changed = DAMAGES[name](json.loads(path.read_text("utf-8")))
    path.write_text(changed if isinstance(changed, str) else json.dumps(changed), encoding="utf-8")
    with pytest.raises(UsageError) as caught:
        load(path)
    assert str(path) in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_file_that_is_not_there_or_no_text(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"cannot read the witness .*No such file.*check the path"):
        load(tmp_path / "none.json")
    (tmp_path / "binary.json").write_bytes(b"\xff\xfe\x00\x01")
    with pytest.raises(UsageError, match="is not a witness file"):
        load(tmp_path / "binary.json")
    with pytest.raises(UsageError, match="cannot read"):
        load(tmp_path)

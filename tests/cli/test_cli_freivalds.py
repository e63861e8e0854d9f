"""`kc freivalds` and `kc inject` on saved arrays."""

from __future__ import annotations

import json
from pathlib import Path

import ml_dtypes
import numpy as np
import pytest
from kc import jsonl, kc, one_sentence

from kernel_contracts.numerics.injection import FAULTS


@pytest.fixture
def saved(tmp_path: Path) -> Path:
    rng = np.random.default_rng(1)
    a, b = rng.standard_normal((40, 100), dtype=np.float32), rng.standard_normal((100, 30), dtype=np.float32)
    for name, array in {"a": a, "b": b, "c": a @ b, "at": a.T, "bt": b.T}.items():
        np.save(tmp_path / f"{name}.npy", array)
    return tmp_path


def paths(folder: Path, names: str = "abc") -> list[Path]:
    return [folder / f"{name}.npy" for name in names]


def test_a_right_product(saved: Path) -> None:
    ended = kc("freivalds", *paths(saved), "--seed", 1)
    assert ended.status == 0
    assert ended.out.startswith("conforms  40x100x30 product")
    assert "false alarms below 1e-09" in ended.out


def test_transposed_operands(saved: Path) -> None:
    named = [saved / "at.npy", saved / "bt.npy", saved / "c.npy"]
    assert kc("freivalds", *named, "--transpose", "ab").status == 0
    assert "not the shapes of a product" in one_sentence(kc("freivalds", *named))


def test_inject_then_find_then_repair(saved: Path) -> None:
    wrong, fixed = saved / "w.npy", saved / "r.npy"
    planted = kc("inject", "bit_flip", saved / "c.npy", wrong, "--number", 24, "--seed", 2)
    assert (planted.status, planted.out.count("bit 24 (exponent)")) == (0, 1)
    record = saved / "found.jsonl"
    ended = kc("freivalds", *paths(saved, "ab"), wrong, "--seed", 1, "--json", record, "--repair", fixed)
    assert ended.status == 1
    assert "bit 24 (exponent) is flipped" in ended.out
    assert fixed.read_bytes() == (saved / "c.npy").read_bytes()
    (line,) = jsonl(record)
    assert line["record"] == "product"
    assert line["ok"] is False
    assert line["repaired"] == [[line["faults"][0]["row"]]]


def test_json_on_standard_output_is_alone(saved: Path) -> None:
    ended = kc("freivalds", *paths(saved), "--json", "-")
    assert json.loads(ended.out)["ok"] is True


def test_formats_that_numpy_lacks(saved: Path) -> None:
    a, b = (np.load(saved / f"{name}.npy").astype(ml_dtypes.bfloat16) for name in "ab")
    np.save(saved / "a.npy", a)
    np.save(saved / "b.npy", b)
    np.save(saved / "c.npy", (a.astype(np.float32) @ b.astype(np.float32)).astype(ml_dtypes.bfloat16))
    assert "say what they are" in one_sentence(kc("freivalds", *paths(saved)))
    ended = kc("freivalds", *paths(saved), "--dtype", "bf16")
    assert ended.status == 0
    assert "output bf16" in ended.out


def test_sums_with_bias_and_addend(saved: Path) -> None:
    c = np.load(saved / "c.npy")
    np.save(saved / "bias.npy", c[0])
    np.save(saved / "z.npy", c * 3)
    np.save(saved / "y.npy", np.float32(0.5) * c + np.float32(2) * (c * 3) + c[0])
    more = ["--alpha", 0.5, "--beta", 2, "--addend", saved / "z.npy", "--bias", saved / "bias.npy"]
    assert kc("freivalds", *paths(saved, "ab"), saved / "y.npy", *more).status == 0
    assert kc("freivalds", *paths(saved, "ab"), saved / "y.npy").status == 1
    assert "redoes a plain product" in kc("freivalds", *paths(saved), *more, "--repair", saved / "r.npy").err


def test_the_list_of_faults() -> None:
    ended = kc("inject", "--list")
    assert ended.status == 0
    assert [line.split()[0] for line in ended.out.splitlines()] == list(FAULTS)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("freivalds", "a.npy", "b.npy", "none.npy"), "cannot read"),
        (("freivalds", "a.npy", "b.npy", "text.npy"), "no array file"),
        (("freivalds", "a.npy", "b.npy", "several.npz"), "several arrays"),
        (("freivalds", "a.npy", "b.npy", "c.npy", "--accumulate", "fp12"), "fp12"),
        (("freivalds", "a.npy", "b.npy", "c.npy", "--false-alarm", "2"), "false_alarm"),
        (("inject",), "--list"),
        (("inject", "bit_flop", "c.npy", "w.npy"), "bit_flip"),
        (("inject", "slice_dropped", "c.npy", "w.npy"), "give the operands"),
        (("inject", "bit_flip", "c.npy", "no/such/w.npy"), "cannot write"),
    ],
)
def test_misuse(saved: Path, arguments: tuple[str, ...], words: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(saved)
    (saved / "text.npy").write_text("no array", encoding="utf-8")
    np.savez(saved / "several.npz", a=np.ones(2))
    ended = kc(*arguments)
    assert ended.status == 2
    assert words in one_sentence(ended)

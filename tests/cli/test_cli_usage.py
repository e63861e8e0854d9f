"""What a user gets wrong: one clear sentence on standard error, status 2, never a traceback."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from kc import KERNELS, check, kc, one_sentence

GOOD = f"{KERNELS}:honest"


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("check", GOOD), "--as OPERATION"),
        (("check",), "say what to measure: a TARGET, or --as OPERATION"),
        (("check", GOOD, "--as", "softmaxx"), "did you mean `softmax`?"),
        (("check", GOOD, "--as", "silu", "--dtype", "fp31"), "no number format fp31"),
        (("check", GOOD, "--as", "silu", "--dtype", "fp8_e5m2"), "no contract is for fp8_e5m2"),
        (("check", GOOD, "--as", "silu", "--class", "C-PRC-77"), "no contract class C-PRC-77"),
        (("check", GOOD, "--as", "silu", "--class", "C-PRC-01"), "there are contracts of C-CMP-01, C-CMP-03"),
        (("check", GOOD, "--as", "silu", "--param", "eps"), "not of the form name=value"),
        (("check", GOOD, "--as", "silu", "--param", "eps=much"), "no number, true or false"),
        (("check", GOOD, "--as", "silu", "--param", "eps=1"), "these contracts have no parameters"),
        (("check", GOOD, "--as", "silu", "--stack", "cupy9"), "no stack 'cupy9'"),
        (("check", GOOD, "--as", "silu", "--samples", "0"), "--samples"),
        (("check", GOOD, "--as", "silu", "--samples", "many"), "--samples"),
        (("check", GOOD, "--as", "silu", "--timeout", "0"), "--timeout"),
        (("check", GOOD, "--as", "silu", "--colour", "red"), "No such option"),
        (("check", GOOD, "--contract", "none.kc"), "cannot read the contract file none.kc"),
        (("check", "missing.py:f", "--as", "silu"), "missing.py"),
        (("check", "no.such.module:f", "--as", "silu"), "no.such.module"),
        (("check", f"{KERNELS}:nothing", "--as", "silu"), "nothing"),
        (("check", f"{KERNELS}:NOT_A_KERNEL", "--as", "silu"), "NOT_A_KERNEL"),
        (("check", "just_a_name", "--as", "silu"), "just_a_name"),
        (("check", "builtin:silly", "--as", "silu"), "no builtin silly"),
        (("check", GOOD, "--as", "silu", "--device", "cuda:9"), "cuda:9"),
        (("calibrate",), "--all"),
        (("calibrate", "none.kc"), "none.kc"),
        (("calibrate", "x.kc", "--all"), "say what to calibrate"),
        (("list", "colours"), "there is no such list"),
        (("explain", "S999"), "nothing is called S999"),
        (("schema", "colours"), "there is no such schema"),
        (("show", "gemm-acumulator"), "did you mean `gemm-accumulator`?"),
        (("show", "none.kc"), "cannot read the contract file none.kc"),
        (("fmt", "none.kc"), "cannot read none.kc"),
        (("lint", "none.kc"), "cannot read none.kc"),
        (("fmt", "."), "holds no .kc file"),
        (("replay", "none.json"), "cannot read the witness none.json"),
        (("tolerance", "softmaxx"), "softmaxx"),
        (("tolerance", "softmax", "--dtype", "fp31"), "fp31"),
        (("tolerance", "softmax", "--shape", "4xfour"), "four"),
        (("dance",), "No such command"),
    ],
)
def test_a_mistake_is_answered_in_one_sentence(
    arguments: tuple[str, ...], says: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    ended = kc(*arguments)
    assert ended.status == 2
    assert says in one_sentence(ended)


def test_a_wrong_contract_is_answered_with_its_findings(tmp_path: Path) -> None:
    path = tmp_path / "a.kc"
    lines = ["contract c version 1.0 implements C-CMP-01", "{", "  scope f (x: fp32[N]) -> y: fp32[N]",
             "  post y within tolerance of reference", "  reference { y = z + expo(x) }", "}", ""]  # fmt: skip
    path.write_text("\n".join(lines), encoding="utf-8")
    for command in (("check", GOOD, "--contract", str(path)), ("show", str(path)), ("calibrate", str(path))):
        ended = kc(*command)
        assert (ended.status, ended.out) == (2, "")
        assert f"{path}:5:19" in ended.err
        assert "Traceback" not in ended.err
        assert ended.err.startswith("N201 the name z is not known here")
    named = kc("check", GOOD, "--contract", f"{path}:d")
    assert named.status == 2


def test_a_contract_that_is_not_in_the_file(tmp_path: Path) -> None:
    path = tmp_path / "empty.kc"
    path.write_text("define f(x) = x\n", encoding="utf-8")
    assert "defines no contract" in one_sentence(kc("check", GOOD, "--contract", str(path)))


def test_a_place_that_cannot_be_written(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x", encoding="utf-8")
    ended = check("builtin:silu", "--keep", tmp_path / "file" / "deeper")
    assert ended.status == 2
    assert "cannot write" in ended.err
    assert "Traceback" not in ended.err


def test_a_damaged_witness(tmp_path: Path) -> None:
    check(f"{KERNELS}:returns_nan", "--class", "C-CMP-01", "--keep", tmp_path)
    (path,) = (tmp_path / "witness").iterdir()
    data = json.loads(path.read_text("utf-8"))
    first = next(iter(data["inputs"]))
    for change, says in (
        ({"contract": "other"}, "holds no contract other"),
        ({"case": {**data["case"], "dims": {"N": 999}}}, f"has no input {first} of shape [999]"),
        ({"case": {**data["case"], "dtypes": {"P": "tf32"}}}, "is for dtypes {'P': 'tf32'}"),
        ({"inputs": {}}, f"has no input {first}"),
        ({"version": 7}, "a witness of version 7"),
        ({"target": ""}, "--target"),
    ):
        path.write_text(json.dumps({**data, **change}), encoding="utf-8")
        ended = kc("replay", path)
        assert ended.status == 2, change
        assert says in one_sentence(ended)


def test_help_needs_no_target() -> None:
    ended = kc("--help")
    assert ended.status == 0
    for command in ("check", "calibrate", "list", "explain", "show", "schema", "fmt", "lint", "tolerance", "replay"):
        assert command in ended.out
        assert kc(command, "--help").status == 0

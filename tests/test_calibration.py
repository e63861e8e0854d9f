"""A contract that separates its three states, contracts that do not, and what `kc calibrate` says of both."""

from __future__ import annotations

import contextlib
import io
import json
from pathlib import Path

import pytest

from kernel_contracts.calibration import Calibration, calibrate, totals
from kernel_contracts.cli.app import main
from kernel_contracts.contracts.catalogue import load_text
from kernel_contracts.contracts.evidence import Verdict
from kernel_contracts.contracts.model import Contract
from kernel_contracts.errors import ArithmeticScopeError, UsageError
from kernel_contracts.vocabulary import vocabulary

GEMV = '''contract gemv version 1.0 implements C-PRC-01
"""A matrix times a vector, summed in fp32."""
{
  scope     gemv for P in {fp32} (A: P[M, K], b: P[K]) -> c: P[M]
  pre       M, K in 1..512 and finite(A, b)
  post      c within tolerance of reference
  tolerance TOLERANCE
  reference { c = matmul(A, b) in fp32 }
  measure {
    inputs  INPUTS
    shapes  tails(16), one, large(500)
    samples 16
  }
  calibrate {
    good     GOOD
    bad      BAD
    baseline BASE
  }
}
'''


def text(
    tolerance: str = "derived", inputs: str = "normal, cancelling(1e6)", good: str = "emulated",
    bad: str = "mutant(accumulate(fp16), above(K, 128))", base: str = "zeros",
) -> str:  # fmt: skip
    out = GEMV.replace("TOLERANCE", tolerance).replace("INPUTS", inputs)
    return out.replace("GOOD", good).replace("BAD", bad).replace("BASE", base)


def contract(*, path: str = "gemv.kc", **given: str) -> Contract:
    (made,) = load_text(text(**given), path, vocabulary())
    return made


def run(c: Contract, score: bool = False, seed: int = 4) -> Calibration:
    return calibrate(c, c.bound[0], seed=seed, score=score)


def state(found: Calibration, name: str) -> object:
    return next(s for s in found.states if s.state == name)


# ------------------------------------------------------------------------------------------------------ what separates


def test_a_contract_that_separates() -> None:
    found = run(contract())
    good, bad, baseline, exact = found.states
    assert (good.state, good.verdict, good.silent, good.ok) == ("good", Verdict.CONFORMS, True, True)
    assert (bad.state, bad.verdict, bad.silent, bad.ok) == ("bad", Verdict.VIOLATES, True, True)
    assert bad.signature
    assert bad.kernel == "mutant(accumulate(fp16), above(K, 128))"
    assert (baseline.verdict, baseline.silent, baseline.ok) == (Verdict.VIOLATES, False, True)
    assert (exact.state, exact.verdict, exact.ok) == ("exact", Verdict.CONFORMS, True)
    assert 0 < good.ratio <= 1 < bad.ratio
    assert found.separates


def test_it_is_reproducible_and_differs_between_seeds() -> None:
    c = contract()
    assert run(c).states == run(c).states
    assert run(c).states != run(c, seed=5).states


def test_the_mutation_score_counts_what_is_killed() -> None:
    found = run(contract(), score=True)
    assert found.valid > 5
    assert found.killed == found.valid, found.survivors
    assert {m.name.partition("(")[0] for m in found.mutants} >= {"accumulate", "operands", "drop_tail"}
    assert totals([found, found]) == {"C-PRC-01": (2 * found.killed, 2 * found.valid)}


def test_a_mutant_that_changes_no_bit_is_no_mutant() -> None:
    """Doubling is exact: a narrower result of the same bits is no fault."""
    source = """contract double version 1.0 implements C-CMP-01
{
  scope     double for P in {bf16} (x: P[N]) -> y: P[N]
  pre       N in 1..64 and finite(x) and abs(x) <= 100
  post      y within tolerance of reference
  tolerance derived
  reference {
    t = x + x in fp32
    y = round(t, P) in fp32
  }
  measure { samples 6 }
}
"""
    (c,) = load_text(source, "d.kc", vocabulary())
    found = run(c, score=True)
    outcomes = {m.name: m.outcome for m in found.mutants}
    assert outcomes["truncate"] == "equivalent"
    assert found.killed == 0
    assert found.valid == sum(m.outcome != "equivalent" for m in found.mutants) == 0


# ---------------------------------------------------------------------------------------------- what does not separate


def test_a_tolerance_too_wide_lets_the_bad_kernel_pass() -> None:
    found = run(contract(tolerance="derived + absolute 1e30"))
    assert state(found, "bad").verdict is Verdict.CONFORMS  # type: ignore[attr-defined]
    assert not found.separates


def test_a_tolerance_too_tight_accuses_the_good_kernel() -> None:
    found = run(contract(tolerance="relative 2 ^ -23 of reference"))
    assert state(found, "good").verdict is Verdict.VIOLATES  # type: ignore[attr-defined]
    assert not found.separates


def test_a_bad_kernel_that_any_test_finds_anchors_nothing() -> None:
    found = run(contract(bad="mutant(accumulate(bf16))"))
    bad = state(found, "bad")
    assert (bad.verdict, bad.silent, bad.ok) == (Verdict.VIOLATES, False, False)  # type: ignore[attr-defined]
    assert not found.separates


def test_a_baseline_that_passes_is_none() -> None:
    found = run(contract(base="emulated"))
    assert not state(found, "baseline").ok  # type: ignore[attr-defined]
    assert not found.separates


def test_a_missing_state_does_not_separate() -> None:
    source = text().replace("    baseline zeros\n", "")
    (c,) = load_text(source, "gemv.kc", vocabulary())
    assert not run(c).separates
    assert not run(contract(bad="mutant(no_max_subtraction)")).separates, "the mutant does not apply here"


# ------------------------------------------------------------------------------------------------------- own kernels


def test_states_may_be_kernels_of_a_file(tmp_path: Path) -> None:
    lines = ["import numpy as np", "def good(A, b):", "    return A @ b", "def ones(A, b):",
             "    return np.ones(len(A), A.dtype)", ""]  # fmt: skip
    (tmp_path / "k.py").write_text("\n".join(lines), encoding="utf-8")
    made = contract(path=str(tmp_path / "gemv.kc"), good='python "k.py:good"', base='python "k.py:ones"')
    found = run(made)
    assert found.separates
    assert found.states[0].kernel == 'python "k.py:good"'


@pytest.mark.parametrize(
    ("given", "error", "says"),
    [
        ({"bad": "mutant(acumulate(fp16))"}, UsageError, "did you mean `accumulate`?"),
        ({"bad": "mutant(accumulate(fp31))"}, ArithmeticScopeError, "no number format fp31"),
        ({"bad": "mutant(accumulate(fp16), above(Z, 128))"}, UsageError, "Z is not a size of gemv"),
        ({"bad": "mutant(accumulate(fp16), beyond(K, 128))"}, UsageError, "above(K, 256) or off(N, 16)"),
        ({"bad": "mutant(accumulate(fp16), above(K, wide))"}, UsageError, "wide is no size"),
        ({"bad": "mutant(accumulate(sum(K)))"}, UsageError, "no format, number or name"),
        ({"bad": "mutant"}, UsageError, "the bad state of gemv is mutant"),
        ({"bad": "mutant()"}, UsageError, "the bad state of gemv is mutant"),
        ({"good": "perfect"}, UsageError, "the good state of gemv is perfect"),
    ],
)
def test_a_state_that_names_nothing_known(given: dict[str, str], error: type[Exception], says: str) -> None:
    with pytest.raises(error) as caught:
        run(contract(**given))
    assert says in str(caught.value)


# ---------------------------------------------------------------------------------------------------- the command line


def kc(*arguments: str) -> tuple[object, str, str]:
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err), pytest.raises(SystemExit) as ended:
        main(list(arguments))
    return ended.value.code, " ".join(out.getvalue().split()), err.getvalue()


@pytest.mark.parametrize(
    ("given", "status", "says"),
    [
        ({}, 0, "separates C-PRC-01 gemv fp32 good conforms"),
        ({"tolerance": "derived + absolute 1e30"}, 1, "bad conforms"),
        ({"bad": "mutant(accumulate(bf16))"}, 1, "bad violates (fails an ordinary test)"),
        ({"tolerance": "relative 2 ^ -23 of reference"}, 1, "good violates"),
    ],
)
def test_kc_calibrate(given: dict[str, str], status: int, says: str, tmp_path: Path) -> None:
    path = tmp_path / "gemv.kc"
    path.write_text(text(**given), encoding="utf-8")
    code, out, err = kc("calibrate", str(path), "--seed", "4", "--no-score", "--json", str(tmp_path / "c.jsonl"))
    assert (code, err) == (status, "")
    assert says in out
    assert f"{int(status == 0)} of 1 separate" in out
    (record,) = [json.loads(line) for line in (tmp_path / "c.jsonl").read_text("utf-8").splitlines()]
    assert record["separates"] == (status == 0)
    assert [s["state"] for s in record["states"]] == ["good", "bad", "baseline", "exact"]


def test_kc_calibrate_reports_the_mutation_score(tmp_path: Path) -> None:
    path = tmp_path / "gemv.kc"
    path.write_text(text(), encoding="utf-8")
    code, out, _ = kc("calibrate", str(path), "--seed", "4")
    assert code == 0
    assert "mutation score C-PRC-01" in out
    assert "= 100.0%" in out


def test_kc_calibrate_chooses_classes(tmp_path: Path) -> None:
    path = tmp_path / "gemv.kc"
    path.write_text(text(), encoding="utf-8")
    code, _, err = kc("calibrate", str(path), "--class", "C-CMP-01")
    assert code == 2
    assert "no contract of C-CMP-01 here" in err

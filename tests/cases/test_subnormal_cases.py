"""Subnormal numbers lost by real kernels: accused by name, silent on ordinary inputs, and their siblings are not."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import ml_dtypes
import numpy as np
import pytest
from case_harness import FaultCase, InProcess, accused, check_case, check_isolated, conforms, load, story

from kernel_contracts import api
from kernel_contracts.casebook import fault_cases
from kernel_contracts.checking import contracts_for
from kernel_contracts.contracts.evidence import Verdict
from kernel_contracts.measurement.functional import ordinary, passes

O07 = fault_cases()["O07"]
FAULTY = [pytest.param(fault_cases()[name], id=name) for name in ("O08", "O09")]
HERE = Path(__file__).parent


@pytest.mark.parametrize("case", FAULTY)
@pytest.mark.parametrize("seed", [1, 22, 333])
def test_the_faulty_kernel_is_accused_and_its_sibling_is_not(case: FaultCase, seed: int) -> None:
    accused(case, check_case(case, "faulty", seed))
    conforms(check_case(case, "sibling", seed))


def test_an_ordinary_test_of_a_copy_sees_nothing() -> None:
    (contract,) = contracts_for("copy", None, ("C-PRC-03",))
    (bound,) = [b for b in contract.bound if b.dtypes["P"] == "bf16"]
    assert passes(contract, bound, InProcess(load("o08_converting_copy").faulty), 7, ordinary(contract, bound, 7))


@pytest.mark.torch
def test_a_kernel_that_leaves_flushing_on_is_found_in_its_own_process() -> None:
    pytest.importorskip("torch")
    results = check_isolated(O07, "faulty", 5)
    accused(O07, results)
    for r in results:
        assert r.finding.signature is not None
        assert "2^-1022 * 0.5 gives 0" in r.finding.signature.detail
    sibling = check_isolated(O07, "sibling", 5)
    conforms(sibling)
    assert any("subnormal_result: flush" in note for note in sibling[0].finding.notes), story(sibling[0])
    assert 5e-324 * 2.0**1000 > 0, "the switch must not reach this process"


@pytest.mark.torch
def test_flushing_that_loading_the_kernel_switched_on_is_its_doing_too() -> None:
    pytest.importorskip("torch")
    (result, *_) = api.check(
        f"{HERE / 'kernels' / 'o07_flushed_on_loading.py'}:faulty", contract=O07.held_to, dtypes=["fp32"], seed=1,
        samples=2,
    )  # fmt: skip
    assert result.verdict is Verdict.VIOLATES, story(result)
    assert result.finding.signature is not None
    assert "since the kernel was loaded" in result.finding.signature.detail


@pytest.mark.torch
def test_the_report_comes_true_the_python_float_becomes_zero() -> None:
    pytest.importorskip("torch")
    code = "\n".join(
        (
            "import numpy as np",
            "import kernel_contracts.casebook.cases.o07_leaves_flushing as k",
            "x, small = np.ones(3), float('1e-310')",
            "k.sibling(x); print(small * 1.0 > 0)",
            "k.faulty(x); print(small * 1.0 > 0)",
        )
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["True", "False"]


def test_the_reported_numbers_come_out_of_the_kernels() -> None:
    o08, o09 = load("o08_converting_copy"), load("o09_matmul_operands")
    x = np.array([1.0102e-39, 9.1835e-41], dtype=ml_dtypes.bfloat16)
    assert o08.faulty(x).view(np.uint16).tolist() == [0, 0]
    assert o08.sibling(x).view(np.uint16).tolist() == x.view(np.uint16).tolist() != [0, 0]
    ones = np.ones((64, 1), np.float16)
    small = np.full((1, 64), 3e-5, np.float16)
    assert float(o09.faulty(small, ones)[0, 0]) == 0
    assert float(o09.sibling(small, ones)[0, 0]) == pytest.approx(0.0019188, rel=1e-3)
    above = np.full((1, 64), 1.001, np.float16)
    assert (float(o09.coerced(above, ones)[0, 0]), float(o09.sibling(above, ones)[0, 0])) == (64.0, 64.0625)

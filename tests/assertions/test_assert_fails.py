"""Wrong answers fail, in words that say what is wrong, where, by how much and how to see it again."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import assert_cases as cases
import numpy as np
import pytest

from kernel_contracts.assertions import AssertOptions, ConformanceError, InconclusiveError, assert_conforms
from kernel_contracts.measurement.witness import load
from kernel_contracts.replaying import replay

NARROW_SUMS = """\
matmul: not what gemm-accumulator # (C-PRC#, P = fp#) admits
  worst    C[#, #] = #, oracle #, tolerance #: off by # times the tolerance
  extent   # of # elements outside the bound, spread over the whole output
  defect   accumulator_narrowed: sums kept in fp# explains #% of the error
  meaning  Sums kept in fewer bits than declared.
  claim    A product is accumulated in fp# at least, whatever the order of its sums.
  bound    products summed over K = # in fp#: gamma_# = #, u = #^#; final rounding to fp#: half a unit in the last place
  sizes    M = #, K = #, N = #
  also in  matmul-shapes, matmul-order
  again    kc replay PATH --target FILE.py:FUNCTION"""


def failure(actual: Any, contract: str, *inputs: Any, **params: Any) -> ConformanceError:
    with pytest.raises(ConformanceError) as caught:
        assert_conforms(actual, contract, *inputs, **params)
    return caught.value


def narrow_matmul() -> tuple[Any, list[Any]]:
    """An fp16 product summed in fp16."""
    contract, bound = cases.find("matmul", "fp16")
    a, b = cases.arrays(cases.drawn(contract, bound, sizes={"M": 6, "K": 300, "N": 5}))
    total = np.zeros((6, 5), np.float16)
    for k in range(300):
        total += a[:, k : k + 1] * b[k : k + 1]
    return total, [a, b]


def test_the_story_of_a_narrow_accumulator() -> None:
    wrong, inputs = narrow_matmul()
    error = failure(wrong, "matmul", *inputs)
    assert cases.masked(str(error)) == NARROW_SUMS
    assert error.signature.name == "accumulator_narrowed"
    assert error.contract.name == "gemm-accumulator"
    worst = error.observation.outputs[0].worst if error.observation is not None else None
    assert worst is not None
    exact = inputs[0].astype(np.float64) @ inputs[1].astype(np.float64)
    assert worst.got == wrong[worst.index]
    assert worst.oracle == pytest.approx(exact[worst.index], rel=1e-12)
    assert worst.ratio == pytest.approx(abs(worst.got - worst.oracle) / worst.tolerance)


@pytest.mark.parametrize(
    ("operation", "dtype", "mutant", "arguments", "place", "signature"),
    [
        ("matmul", "fp32", "operands", ("bf16",), "", "operand_coerced"),
        ("matmul", "fp16", "truncate", (), "", "rounding_truncated"),
        ("gelu", "fp32", "erf_by_tanh", (), "", "function_substituted"),
        ("linear", "fp32", "drop_addend", (), "", "stage_omitted"),
        ("softmax", "fp32", "narrow", ("bf16",), "e held", "intermediate_narrowed"),
    ],
)
def test_known_faults_are_named(
    operation: str, dtype: str, mutant: str, arguments: tuple[Any, ...], place: str, signature: str
) -> None:
    contract, bound = cases.find(operation, dtype)
    inputs = cases.drawn(contract, bound, sizes=dict.fromkeys(contract.dims, 40))
    wrong = cases.faulty(contract, bound, inputs, mutant, arguments, place)
    assert failure(wrong, operation, *cases.arrays(inputs)).signature.name == signature


def test_a_dropped_tail_is_named_with_its_tile() -> None:
    rng = np.random.default_rng(0)
    a, b = rng.standard_normal((4, 8)).astype(np.float32), rng.standard_normal((8, 40)).astype(np.float32)
    wrong = a @ b
    wrong[:, 32:] = 0
    error = failure(wrong, "matmul", a, b)
    assert error.signature.name == "tail_dropped"
    assert "along axis 1 right before index 32, wrong from there on" in str(error)
    assert error.contract.name == "matmul-shapes"


def test_a_detour_through_a_narrow_format_is_noted() -> None:
    torch = pytest.importorskip("torch")
    torch.manual_seed(0)
    a, b = torch.randn(8, 16), torch.randn(16, 8)
    error = failure((a @ b).bfloat16().float(), "matmul", a, b)
    assert "every value of C is one of bf16, where fp32 is due" in str(error)


def test_one_wrong_element_is_found_where_it_is() -> None:
    x = np.random.default_rng(0).standard_normal((7, 9)).astype(np.float32)
    e = np.exp(x.astype(np.float64))
    y = (e / e.sum(-1, keepdims=True)).astype(np.float32)
    y[4, 6] *= np.float32(1.01)
    text = str(failure(y, "softmax", x))
    assert "y[4, 6]" in text
    assert "1 of 63 elements outside the bound, all within [4, 6]" in text


@pytest.mark.parametrize("special", [np.nan, np.inf, -np.inf])
def test_nan_and_infinities_never_pass(special: float) -> None:
    x = np.zeros((2, 3), np.float32)
    y = np.full((2, 3), 1 / 3, np.float32)
    y[1, 2] = special
    error = failure(y, "softmax", x)
    assert error.signature.name == "overflowed"
    assert "a finite number is due" in str(error)
    assert "y[1, 2]" in str(error)


def test_where_one_answer_is_right_no_tolerance_hides_another() -> None:
    table = np.arange(6, dtype=np.float32).reshape(3, 2)
    right = table[[2, 1]]
    assert_conforms(right, "gather", table, [2, 1])
    wrong = np.nextafter(right, np.float32(9))
    assert "tolerance 0: every step is exact, no other answer is right" in str(failure(wrong, "gather", table, [2, 1]))
    whole = np.array([[3.0]], np.float32)
    almost = np.nextafter(np.array([[10.0]], np.float32), np.float32(0))
    assert "tolerance 0" in str(
        failure(almost, "matmul", np.array([[1.0, 3.0]], np.float32), np.vstack([whole / 3, whole]))
    )


@pytest.mark.parametrize(
    ("actual", "signature", "words"),
    [
        (np.zeros((2, 3)), "wrong_dtype", "y is fp64, the scope says fp32"),
        (np.zeros((2, 3), np.int32), "wrong_dtype", "y is int32, the scope says fp32"),
        (np.zeros((2, 3), np.complex64), "wrong_type", "dtype complex64"),
        (np.zeros((3, 2), np.float32), "wrong_shape", "y has shape [3, 2], the scope says [2, 3]"),
        (np.zeros(6, np.float32), "wrong_shape", "y has shape [6]"),
        ((np.zeros((2, 3), np.float32),) * 2, "wrong_count", "2 array(s) were given, the scope says 1: y"),
        ((), "wrong_count", "0 array(s)"),
        (None, "wrong_type", "it is a NoneType"),
        ("0.5", "wrong_type", "it is a str"),
        ([[0.1, 0.2], [0.3]], "wrong_type", "rows differ in length"),
        (np.ma.masked_array(np.zeros((2, 3), np.float32)), "wrong_type", "subclass of numpy.ndarray"),
    ],
)
def test_what_is_no_answer_of_the_scope_fails(actual: Any, signature: str, words: str) -> None:
    error = failure(actual, "softmax", np.zeros((2, 3), np.float32))
    assert error.signature.name == signature
    assert words in str(error)
    assert error.observation is None


# ------------------------------------------------------------------------------------------------------- the witness


def test_the_witness_holds_the_very_inputs(witnesses: Path) -> None:
    wrong, inputs = narrow_matmul()
    error = failure(wrong, "matmul", *inputs)
    assert Path(error.witness).parent == witnesses
    assert error.witness in str(error)
    witness = load(error.witness)
    assert witness.contract == "gemm-accumulator"
    assert dict(witness.case.dims) == {"M": 6, "K": 300, "N": 5}
    for kept, given in zip(witness.inputs.values(), inputs, strict=True):
        np.testing.assert_array_equal(kept, given.astype(np.float64))
    assert failure(wrong, "matmul", *inputs).witness == error.witness
    assert len(list(witnesses.iterdir())) == 1


def test_the_witness_of_a_large_case_is_cut_down(witnesses: Path) -> None:
    rng = np.random.default_rng(0)
    a, b = rng.standard_normal((300, 40)).astype(np.float32), rng.standard_normal((40, 2000)).astype(np.float32)
    wrong = a @ b
    wrong[250, 1999] += 1
    error = failure(wrong, "matmul", a, b)
    witness = load(error.witness)
    assert dict(witness.case.dims) == {"M": 16, "K": 40, "N": 16}
    np.testing.assert_array_equal(witness.inputs["A"], a[240:256].astype(np.float64))
    np.testing.assert_array_equal(witness.inputs["B"], b[:, 1984:].astype(np.float64))
    assert witness.seen["index"] == [10, 15]
    assert "C[250, 1999]" in str(error)


def test_the_witness_replays_on_the_kernel_it_is_given(tmp_path: Path) -> None:
    kernel = tmp_path / "kernels.py"
    kernel.write_text(
        "import numpy as np\n\ndef zeros(A, B):\n    return np.zeros((A.shape[0], B.shape[1]), A.dtype)\n"
    )
    a = np.ones((2, 3), np.float32)
    error = failure(np.zeros((2, 2), np.float32), "matmul", a, a.T)
    again = replay(error.witness, target=f"{kernel}:zeros")
    assert again.fails
    assert again.same


def test_a_folder_that_cannot_be_written_does_not_hide_the_failure(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    blocked = tmp_path / "file"
    blocked.write_text("")
    monkeypatch.setenv("KC_WITNESS_DIR", str(blocked / "witness"))
    error = failure(np.ones((1, 2), np.float32), "softmax", np.zeros((1, 2), np.float32))
    assert error.witness == ""
    assert "no witness was written" in str(error)
    assert "set KC_WITNESS_DIR" in str(error)


def test_witnesses_can_be_switched_off(witnesses: Path) -> None:
    error = failure(
        np.ones((1, 2), np.float32), "softmax", np.zeros((1, 2), np.float32), options=AssertOptions(witness=False)
    )
    assert "kc replay" not in str(error)
    assert not witnesses.exists()


def test_the_default_folder_is_below_the_working_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("KC_WITNESS_DIR")
    monkeypatch.chdir(tmp_path)
    error = failure(np.ones((1, 2), np.float32), "softmax", np.zeros((1, 2), np.float32))
    assert Path(error.witness).parts[:2] == (".kc", "witness")
    assert json.loads((tmp_path / error.witness).read_text())["contract"] == error.contract.name


@pytest.mark.torch
def test_the_witness_remembers_the_stack() -> None:
    import torch

    error = failure(torch.ones(1, 2), "softmax", torch.zeros(1, 2))
    assert load(error.witness).stack == "torch"


# ------------------------------------------------------------------------------------------------ nothing is decided


def test_a_weak_oracle_decides_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    from kernel_contracts.answers import admission
    from kernel_contracts.oracles import ladder

    only = tuple(o for o in ladder() if o.name == "fp64")
    monkeypatch.setattr(admission, "ladder", lambda: only)
    x = np.random.default_rng(0).standard_normal((2, 5))
    wrong = np.zeros((2, 5))
    with pytest.raises(InconclusiveError, match="oracle's own error"):
        assert_conforms(wrong, "softmax", x)
    assert_conforms([[0.5, 0.5]], "softmax", np.zeros((1, 2), np.float32))


def test_passing_where_everything_is_admitted_says_nothing() -> None:
    a, b = np.full((2, 2), 1e30, np.float32), np.array([[1e30, -1e30], [-1e30, 1e30]], np.float32)
    with pytest.raises(InconclusiveError, match="100% of the elements admit every answer"):
        assert_conforms(np.ones((2, 2), np.float32), "matmul", a, b)

"""The derived tolerance as numbers: equal to the textbook's, sharp on both sides, and honest about the usual ones."""

from __future__ import annotations

import json
import math
from pathlib import Path

import assert_cases as cases
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kernel_contracts.assertions import AssertOptions, ConformanceError, assert_conforms
from kernel_contracts.contracts.model import Bound, Contract
from kernel_contracts.errors import UsageError
from kernel_contracts.report.terminal import console
from kernel_contracts.report.tolerance import render_tolerance
from kernel_contracts.tolerances import USUAL, describe_tolerance, tolerance

U32 = 2.0**-24


def products(k: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    return rng.standard_normal((3, k)).astype(np.float32), rng.standard_normal((k, 2)).astype(np.float32)


@pytest.mark.parametrize("k", [1, 2, 17, 300])
def test_a_product_has_the_bound_of_the_textbook(k: int) -> None:
    """gamma_K |A||B| (Higham 2002, eq. 3.12), and half a least subnormal for each product."""
    a, b = products(k, 0)
    magnitudes = np.abs(a).astype(np.float64) @ np.abs(b).astype(np.float64)
    gamma = k * U32 / (1 - k * U32)
    np.testing.assert_allclose(tolerance("matmul", a, b), gamma * magnitudes, rtol=1e-9)


def test_a_final_rounding_adds_half_a_unit_in_the_last_place() -> None:
    a, b = (x.astype(np.float16) for x in products(8, 1))
    exact = a.astype(np.float64) @ b.astype(np.float64)
    gamma = 8 * U32 / (1 - 8 * U32)
    summed = gamma * (np.abs(a).astype(np.float64) @ np.abs(b).astype(np.float64))
    ulp = np.abs(np.spacing(exact.astype(np.float16)).astype(np.float64))
    np.testing.assert_allclose(tolerance("matmul", a, b), summed + ulp / 2, rtol=0.02)


@settings(max_examples=20, deadline=None)
@given(k=st.integers(2, 64), seed=st.integers(0, 999), side=st.sampled_from([-1, 1]))
def test_the_tolerance_is_the_line_between_pass_and_fail(k: int, seed: int, side: int) -> None:
    a, b = products(k, seed)
    exact = a.astype(np.float64) @ b.astype(np.float64)
    allowed = tolerance("matmul", a, b)
    assert isinstance(allowed, np.ndarray)
    quiet = AssertOptions(witness=False)
    assert_conforms((exact + side * 0.99 * allowed).tolist(), "matmul", a, b, options=quiet)
    moved = exact.copy()
    moved[2, 1] += side * 1.01 * allowed[2, 1]
    with pytest.raises(ConformanceError, match=r"C\[2, 1\]"):
        assert_conforms(moved.tolist(), "matmul", a, b, options=quiet)


def test_what_is_only_moved_has_no_tolerance() -> None:
    allowed = tolerance("gather", np.ones((3, 2), np.float32), [0, 2])
    np.testing.assert_array_equal(allowed, np.zeros((2, 2)))


def test_where_every_answer_is_admitted_the_tolerance_is_infinite() -> None:
    a = np.array([[6e4, -6e4], [1.0, 0.5]], np.float16)
    b = np.array([[6e4], [6e4]], np.float16)
    allowed = tolerance("matmul", a.astype(np.float32) * np.float32(1e30), b.astype(np.float32) * np.float32(1e30))
    assert isinstance(allowed, np.ndarray)
    assert np.isinf(allowed[0, 0])


def test_the_tightest_contract_decides() -> None:
    x = np.random.default_rng(0).standard_normal((2, 1000)).astype(np.float32)
    pairwise = tolerance("sum", x, options=AssertOptions(classes=("C-ORD-01",)))
    any_order = tolerance("sum", x, options=AssertOptions(classes=("C-PRC-01",)))
    np.testing.assert_array_equal(tolerance("sum", x), np.minimum(pairwise, any_order))
    assert np.all(pairwise < any_order)


def test_several_outputs_give_a_tuple(tmp_path: Path) -> None:
    x = np.random.default_rng(0).standard_normal((4, 5)).astype(np.float32)
    top, place, total = tolerance(cases.write(tmp_path, cases.TWO_OUTPUTS), x)
    np.testing.assert_array_equal(top, 0.0)
    np.testing.assert_array_equal(place, 0.0)
    gamma = 4 * U32 / (1 - 4 * U32)
    np.testing.assert_allclose(total, gamma * np.abs(x).astype(np.float64).sum(-1), rtol=1e-9)


# ------------------------------------------------------------------------------------------------------ descriptions


def test_a_product_is_described_in_the_words_of_the_textbook() -> None:
    record = describe_tolerance("matmul", "bf16", "4096x512x4096")
    product, rounding = record.terms
    assert product.symbol == "gamma_512(fp32) |A||B|"
    assert product.value == pytest.approx(512 * U32 / (1 - 512 * U32))
    assert rounding.symbol == "ulp(bf16)/2"
    assert record.symbols == "gamma_512(fp32) |A||B| + ulp(bf16)/2"
    assert dict(record.dims) == {"M": 4096, "K": 512, "N": 4096}
    assert dict(record.sampled) == {"M": 64, "K": 512, "N": 64}
    (output,) = record.outputs
    assert output.smallest <= output.typical <= output.largest
    assert output.rms == pytest.approx(math.sqrt(512), rel=0.2)
    assert 0 < output.honest <= 1


def test_a_bias_is_one_more_term() -> None:
    record = describe_tolerance("linear", "fp32", "8x100x8")
    assert record.symbols == "gamma_101(fp32) (|x||w| + |b|)"
    assert record.outputs[0].to_magnitude == pytest.approx(101 * U32 / (1 - 101 * U32), rel=1e-6)


def test_usual_tolerances_take_zeros_for_a_softmax() -> None:
    """At width 4096 every weight is far below 1e-3: atol alone lets zeros pass."""
    record = describe_tolerance("softmax", "fp32", "16x4096")
    usual = {(u.rtol, u.atol): u for u in record.outputs[0].usual}
    assert usual[1e-2, 1e-2].zeros > 0.99
    assert usual[1e-3, 1e-3].zeros > 0.9
    assert usual[1e-2, 1e-2].hides_typical > 1000
    assert all(u.hides_most >= u.hides_typical for u in usual.values())


def test_usual_tolerances_flag_honest_products() -> None:
    """assert_close in fp32 is relative to a result that may have cancelled."""
    record = describe_tolerance("matmul", "fp32", {"M": 64, "K": 4096, "N": 64})
    default = record.outputs[0].usual[0]
    assert default.name.startswith("assert_close for fp32")
    assert default.flags > 0


@pytest.mark.torch
def test_the_usual_defaults_are_those_of_pytorch() -> None:
    import torch
    from torch.testing._comparison import default_tolerances

    names = {"fp64": torch.float64, "fp32": torch.float32, "fp16": torch.float16, "bf16": torch.bfloat16}
    assert {n: default_tolerances(d) for n, d in names.items()} == USUAL


def test_the_same_seed_gives_the_same_record() -> None:
    first, again, other = (describe_tolerance("gelu", "fp16", "500", seed=s) for s in (3, 3, 4))
    assert first == again
    assert first.outputs != other.outputs


@pytest.mark.parametrize("pair", [p for p in cases.library() if p[1] is p[0].bound[-1]], ids=cases.name)
def test_every_operation_can_be_described(pair: tuple[Contract, Bound]) -> None:
    contract, bound = pair
    dtype = next(iter(bound.dtypes.values()), next(iter(bound.inputs.values())).name)
    record = describe_tolerance(contract.operation, dtype, cases.dims(contract), params=cases.needed(contract))
    assert [o.name for o in record.outputs] == [t.name for t in contract.outputs]
    for output in record.outputs:
        assert output.honest <= 1
        assert output.free < 0.5
    json.dumps(record.as_json(), allow_nan=False)


def test_the_page_names_every_term(capsys: pytest.CaptureFixture[str]) -> None:
    record = describe_tolerance("softmax", "bf16", "8x64")
    console().print(render_tolerance(record))
    page = capsys.readouterr().out
    for term in record.terms:
        assert term.symbol in page
        assert term.words in page
    assert "assert_close for bf16" in page
    assert "after softmax-" in page


@pytest.mark.parametrize(
    ("operation", "dtype", "shape", "words"),
    [
        ("matmul", "bf17", "4x4x4", "no number format bf17; did you mean"),
        ("matmul", "int8", "4x4x4", "does not cover int8; it covers"),
        ("matmul", "fp32", "4x4", "does not give M, K, N of matmul; write as in 128x128x128"),
        ("matmul", "fp32", "4xKx4", "does not give M, K, N"),
        ("matmul", "fp32", {"M": 4, "N": 4}, "the shape gives M, N; matmul has the sizes M, K, N"),
        ("softmax", "fp32", "4x0", "N = 0 is not in"),
        ("softmaks", "fp32", "4x4", "no operation softmaks"),
    ],
)
def test_bad_descriptions_are_one_sentence(operation: str, dtype: str, shape: str | dict[str, int], words: str) -> None:
    with pytest.raises(UsageError) as caught:
        describe_tolerance(operation, dtype, shape)
    assert words in str(caught.value)
    assert "\n" not in str(caught.value)

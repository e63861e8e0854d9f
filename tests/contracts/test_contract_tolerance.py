"""Tolerances: what each form admits in numbers, and what is rejected before any kernel runs."""

from __future__ import annotations

import math

import contract_texts as kc
import numpy as np
import pytest

from kernel_contracts.contracts.catalogue import LIBRARY, load_file
from kernel_contracts.contracts.evidence import Layout
from kernel_contracts.formats import FORMATS
from kernel_contracts.measurement.calls import ArrayIn
from kernel_contracts.numerics.rounding import from_storage, to_storage
from kernel_contracts.vocabulary import vocabulary

FP32, BF16 = FORMATS["fp32"], FORMATS["bf16"]
X = np.array([3.0, -0.25, 0.0, 1024.0])
SUM = {"scope": "double (x: fp32[N]) -> y: fp32[N]", "reference": "{ y = x + x }"}


def allowed(tolerance: str, x: np.ndarray = X, **clauses: str) -> np.ndarray:
    """The radius around the reference, for y = x + x."""
    contract = kc.one(tolerance=tolerance, **{**SUM, **clauses})
    (found,) = kc.admitted(contract, {"N": x.size}, {"x": x})
    assert np.array_equal(found.center, 2 * x)
    assert np.allclose(found.above, -found.below, rtol=1e-12)
    return found.above


# ------------------------------------------------------------------------------------------------- forms, in numbers


@pytest.mark.parametrize(
    ("tolerance", "radius"),
    [
        ("absolute 0.5", [0.5] * 4),
        ("absolute 2 ^ -3 * N", [0.5] * 4),
        ("absolute u(fp32) * N", [2.0**-24 * 4] * 4),
        ("absolute eps(bf16)", [2.0**-7] * 4),
        ("absolute sqrt(N) + log2(N)", [4.0] * 4),
        ("absolute max(abs(x))", [1024.0] * 4),
        ("absolute min(abs(x)) + 1", [1.0] * 4),
        ("absolute 1e-3 * norm(x)", [1e-3 * math.sqrt(9 + 0.0625 + 1024**2)] * 4),
        ("absolute (maximum(1, 2) - minimum(1, 2))", [1.0] * 4),
        ("absolute gamma(N, fp32)", [4 * 2.0**-24 / (1 - 4 * 2.0**-24)] * 4),
        ("relative 0.5 of reference", [3.0, 0.25, 0.0, 1024.0]),
        ("relative 0.5 of abs(reference(y))", [3.0, 0.25, 0.0, 1024.0]),
        ("relative 1e-3 of max(abs(reference))", [2.048] * 4),
        ("relative 0.25 of x", [0.75, 0.0625, 0.0, 256.0]),
        ("relative 0.25 of mean(abs(x))", [0.25 * 1027.25 / 4] * 4),
        ("ulp 2 of fp32", [2 * 2.0**-21, 2 * 2.0**-24, 2 * 2.0**-149, 2 * 2.0**-12]),
        ("ulp 1 of bf16", [2.0**-5, 2.0**-8, 2.0**-133, 2.0**4]),
        ("1e-3 * abs(x) + 1e-6", list(1e-3 * np.abs(X) + 1e-6)),
        ("absolute 0.5 + relative 0.5 of reference", [3.5, 0.75, 0.5, 1024.5]),
        ("absolute 0.5 and relative 0.5 of reference", [0.5, 0.25, 0.0, 0.5]),
    ],
)  # fmt: skip
def test_a_form_in_numbers(tolerance: str, radius: list[float]) -> None:
    assert np.allclose(allowed(tolerance), radius, rtol=1e-9, atol=0.0)


def test_derived_is_what_the_program_pays_for() -> None:
    assert np.array_equal(allowed("derived"), np.zeros(4)), "x + x is exact"
    got = allowed("derived", np.array([0.1]), reference="{ y = x + x in fp32 }", scope="d (x: fp64[N]) -> y: fp64[N]")
    assert 0 < got[0] < 1e-6


def test_derived_plus_something_is_the_sum_of_both() -> None:
    assert np.allclose(allowed("derived + absolute 0.5"), [0.5] * 4)


def test_a_table_by_format_takes_its_own_entry() -> None:
    clauses = {
        "scope": "double for P in {fp32, bf16} (x: P[N]) -> y: P[N]",
        "reference": "{ y = round(x + x, P) in fp32 }",
    }
    contract = kc.one(
        tolerance="per P { fp32: absolute 0.5, bf16: absolute 64 and relative 0.5 of reference }", **clauses
    )
    radii = [kc.admitted(contract, {"N": 4}, {"x": X}, choice)[0].above for choice in (0, 1)]
    assert np.allclose(radii[0], [0.5] * 4)
    assert np.allclose(radii[1], [3.0, 0.25, 0.0, 64.0])


def test_elementwise_with_a_product_of_magnitudes() -> None:
    rng = np.random.default_rng(3)
    a, b = (np.asarray(from_storage(to_storage(rng.normal(size=s), FP32))) for s in ((3, 5), (5, 2)))
    contract = kc.one(
        scope="matmul (A: fp32[M, K], B: fp32[K, N]) -> C: fp32[M, N]", pre="M, N, K in 1..64",
        post="C within tolerance of reference", reference="{ C = matmul(A, B) in fp32 }",
        tolerance="gamma(K, fp32) * (abs(A) @ abs(B))",
    )  # fmt: skip
    (found,) = kc.admitted(contract, {"M": 3, "K": 5, "N": 2}, {"A": a, "B": b})
    u = 2.0**-24
    assert np.allclose(found.above, 5 * u / (1 - 5 * u) * (np.abs(a) @ np.abs(b)), rtol=1e-12)
    assert np.allclose(found.center, a @ b, rtol=1e-13)


def test_an_infinite_reference_admits_itself_alone() -> None:
    contract = kc.one(tolerance="absolute 5", **SUM)
    (found,) = kc.admitted(contract, {"N": 2}, {"x": np.array([np.inf, 1.0])})
    assert np.isinf(found.ratios(np.array([1e30, 2.0]))[0])
    assert list(found.ratios(np.array([np.inf, 7.0]))) == [0.0, 1.0]


def test_norms_along_an_axis_keep_it() -> None:
    contract = kc.one(
        scope="double (x: fp32[M, N]) -> y: fp32[M, N]", pre="M, N in 1..9", tolerance="absolute sum(abs(x), axis = -1)"
    )
    x = np.arange(6.0).reshape(2, 3)
    (found,) = kc.admitted(contract, {"M": 2, "N": 3}, {"x": x})
    assert np.array_equal(found.above, [[3.0] * 3, [12.0] * 3])


# ------------------------------------------------------------------------------------------------- static rejections


@pytest.mark.parametrize(
    ("tolerance", "code", "says"),
    [
        ("relative 1e-3 of abs(y)", "S401", "write reference(y), the oracle's value"),
        ("absolute 1e-3 * max(abs(y))", "S401", "mentions the candidate's output y"),
        ("absolute -(y + 1)", "S401", "mentions the candidate's output y"),
        ("per P { fp32: derived + relative 1e-3 of y }", "S401", "a kernel would set its own tolerance"),
        ("relative 1e-9 of reference", "S402", "u = 5.96e-08"),
        ("relative -0.1 of reference", "S402", "negative"),
        ("absolute 0", "S402", "bitwise equal reference"),
        ("ulp 0.25 of fp32", "S402", "at least ulp 0.5 of fp32"),
        ("derived and relative 1e-9 of reference", "S402", "no kernel can meet this"),
        ("relative 1 of reference", "S403", "admits zeros"),
        ("relative 2 of abs(reference(y))", "S403", "admits zeros"),
        ("ulp 2 ^ 24 of fp32", "S403", "24 significant bits"),
        ("per P { bf16: derived }", "S405", "add fp32: derived"),
        ("derived with order = pairwise", "S406", "no option order"),
        ("derived with summation = random", "S406", "no order of summation"),
        ("derived with summation = blocked(0)", "S406", "write blocked(8)"),
        ("derived with erf = twice(16)", "S406", "a number of ulp"),
        ("absolute epsilon", "N204", "epsilon has no value"),
        ("absolute reference(x)", "N208", "must name an output"),
        ("absolute sine(x)", "N205", "no function sine"),
        ("absolute u(fp31)", "N203", "no number format fp31"),
        ("absolute N // 2", "T313", "not //"),
        ("absolute abs(x, x)", "T307", "abs does not take 2 operand(s)"),
        ("absolute max(x, axis = 4)", "T307", "does not fit here"),
        ("absolute x @ x @ x", "T304", "does not fit y of shape [N]"),
    ],
)  # fmt: skip
def test_a_tolerance_that_is_wrong_by_itself(tolerance: str, code: str, says: str) -> None:
    found = kc.wrong(tolerance=tolerance)
    assert found.code == code
    assert says in str(found)


def test_a_tolerance_of_the_wrong_shape_is_found() -> None:
    found = kc.wrong(
        scope="double (x: fp32[M, N]) -> y: fp32[M, N]", pre="M, N in 1..9", tolerance="absolute abs(x) @ abs(x)"
    )
    assert found.code == "T304"


def test_half_an_ulp_and_u_are_just_enough() -> None:
    assert kc.one(tolerance="ulp 0.5 of fp32")
    assert kc.one(tolerance="relative u(fp32) of reference")
    assert kc.one(tolerance="relative 0.999 of reference")


def test_a_bound_of_a_sum_ends_where_n_u_reaches_a_half() -> None:
    clauses = {"scope": "sum (x: fp16[N]) -> y: fp16[]", "reference": "{ y = sum(x) in fp16 }"}
    found = kc.wrong(pre="N in 1..1024", **clauses)
    assert found.code == "S404"
    assert "sums of up to 1024 terms (N) in fp16" in found.message
    assert kc.one(pre="N in 1..1023", **clauses)
    assert kc.one(pre="N in 1..1048576", tolerance="derived with summation = pairwise", **clauses)
    assert kc.one(pre="N in 1..100000", scope=clauses["scope"], reference="{ y = round(sum(x), fp16) in fp32 }")


def test_the_sum_may_run_over_several_sizes() -> None:
    found = kc.wrong(scope="sum (x: fp16[M, N]) -> y: fp16[]", pre="M, N in 1..100", reference="{ y = sum(x) in fp16 }")
    assert found.code == "S404"
    assert "sums of up to 10000 terms (M * N)" in found.message


# ------------------------------------------------------------------------------------------------- the paper's example


FA3 = """use rowmax from "nn"

contract fa3 version 1.0 implements C-PRC-01
{
  scope     flash_attention for P in {fp8_e4m3fn, bf16} (Q: P[S, D], K: P[S, D], V: P[S, D]) -> O: OUT[S, D]
  pre       S in 1..16384 and D in {64, 128, 256} and finite(Q, K, V)
  post      O within tolerance of reference
  tolerance TOLERANCE
  reference {
    s = matmul(Q, transpose(K)) / sqrt(D) in fp32
    e = exp(s - rowmax(s))                in fp32
    O = round(matmul(e / sum(e, axis = -1, keep), V), OUT) in fp32
  }
}
"""


@pytest.mark.parametrize(
    ("out", "tolerance", "u"),
    [
        (
            "bf16",
            "per P { fp8_e4m3fn: relative 5e-3 of abs(reference), bf16: relative 1e-3 of abs(reference) }",
            "0.00391",
        ),
        ("bf16", "relative 1e-3 of abs(reference)", "0.00391"),
        ("fp8_e4m3fn", "relative 5e-3 of abs(reference)", "0.0625"),
    ],
)
def test_the_tolerances_of_the_paper_cannot_be_met(out: str, tolerance: str, u: str) -> None:
    """Rounding the exact result to the output's format is off by more than they allow."""
    found = kc.wrong(FA3.replace("TOLERANCE", tolerance).replace("OUT", out))
    assert found.code == "S402"
    assert f"rounding an exact result to {out} alone is off by up to u = {u} of it" in found.message
    assert found.hint == f"write derived, or ulp 1 of {out}, or at least relative u({out}) of reference"
    assert found.span.line == 8


@pytest.mark.parametrize("tolerance", ["derived", "ulp 1 of bf16", "relative u(bf16) of reference"])
def test_each_repair_that_the_message_offers_is_accepted(tolerance: str) -> None:
    assert kc.one(FA3.replace("TOLERANCE", tolerance).replace("OUT", "bf16")).name == "fa3"


def test_the_repaired_file_of_the_library_is_accepted_and_met_by_exact_results() -> None:
    found = load_file(LIBRARY / "fa3.kc", vocabulary())
    assert {"C-FA3-NUM", "C-FA3-SHAPE", "C-FA3-DET"} & {c.name for c in found} >= {"C-FA3-NUM", "C-FA3-SHAPE"}
    contract = next(c for c in found if c.name == "C-FA3-NUM")
    run = kc.session(contract, choice=1)
    case = kc.case(contract, {"B": 1, "H": 1, "S": 5, "D": 64}, choice=1)
    inputs = run.inputs(case)
    seen = run.measure_on(case, inputs)
    assert seen.ratio <= 1.0
    assert not seen.violating
    # the paper's relative 1e-3 would have refused that very answer
    (got,) = run.kernel.call(
        [ArrayIn(n, to_storage(x, run.bound.inputs[n]), Layout.CONTIGUOUS) for n, x in inputs.items()],
        dict(case.scalars),
    ).outputs
    (exact,) = kc.admitted(contract, dict(case.dims), inputs, choice=1)
    off = np.abs(from_storage(got) - exact.center) / np.abs(exact.center)
    assert off.max() > 1e-3

"""Products too large for the oracle: what is wrong at large sizes alone is found, a conforming kernel not accused."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from kernels_in_process import Function

from kernel_contracts.checking import Options, Result, check_contract
from kernel_contracts.contracts.catalogue import load_text
from kernel_contracts.contracts.evidence import Verdict
from kernel_contracts.contracts.model import Contract
from kernel_contracts.errors import LanguageError, UsageError
from kernel_contracts.measurement.verified import form_of, is_verified, planned
from kernel_contracts.vocabulary import vocabulary

TEXT = """contract c version 1.0 implements C-PRC-01
{{
  scope     matmul for P in {{{format}}} ({scope}) -> C: P[M, N]
  pre       M, N, K in 1..4096 and finite({names})
  post      C within tolerance of reference
  reference {{ C = {reference} }}
  measure {{
    inputs    normal
    shapes    one
    samples   4
    {line}
  }}
}}
"""
LINE = "freivalds 2, large(1024)"


def contract(
    line: str = LINE,
    reference: str = "round(matmul(A, B), P) in fp32",
    scope: str = "A: P[M, K], B: P[K, N]",
    names: str = "A, B",
    format: str = "fp16",
) -> Contract:
    text = TEXT.format(line=line, reference=reference, scope=scope, names=names, format=format)
    (found,) = load_text(text, "c.kc", vocabulary())
    return found


def right(A: Any, B: Any) -> Any:
    return (A.astype(np.float32) @ B.astype(np.float32)).astype(A.dtype)


def narrowed_when_large(A: Any, B: Any) -> Any:
    """Tiles of 64 terms are added in fp16, for long sums only."""
    if A.shape[1] < 512:
        return right(A, B)
    total = np.zeros((A.shape[0], B.shape[1]), np.float16)
    for k in range(0, A.shape[1], 64):
        total += (A[:, k : k + 64].astype(np.float32) @ B[k : k + 64].astype(np.float32)).astype(np.float16)
    return total


def one_bad_tile(A: Any, B: Any) -> Any:
    """The last tile of a large product is not written."""
    out = right(A, B)
    if out.shape[0] >= 512:
        out[-16:, -16:] = 0
    return out


def run(kernel: Any, c: Contract | None = None) -> Result:
    c = c or contract()
    return check_contract(c, c.bound[0], Function(kernel), Options(shrink=False), seed=5)


def test_a_conforming_kernel_conforms_and_its_products_were_verified() -> None:
    result = run(right)
    assert result.verdict is Verdict.CONFORMS, result.finding.reason
    large = [o for o in result.observations if is_verified(o.case)]
    assert len(large) == 2
    assert large[0].case.dims == {"M": 1024, "N": 1024, "K": 1024}
    for o in large:
        assert o.facts["freivalds"] == "verified"
        assert o.readings["z"] < o.readings["threshold"]
        assert 0 < o.outputs[0].ratio < 1, "some elements were held against the oracle, too"
        assert o.outputs[0].size == o.case.dims["M"] * o.case.dims["N"]


def test_an_accumulator_narrowed_at_large_sizes_is_found_and_named() -> None:
    assert run(narrowed_when_large, contract(line="")).verdict is Verdict.CONFORMS, "small sizes show nothing"
    result = run(narrowed_when_large)
    assert result.verdict is Verdict.VIOLATES
    assert result.finding.signature is not None
    assert result.finding.signature.name in ("partial_sums_narrowed", "accumulator_narrowed"), result.finding
    witness = result.finding.witness
    assert witness is not None
    assert witness.facts["freivalds"] == "accumulator_narrowed"


def test_a_tile_out_of_a_million_elements_is_found_where_it_is() -> None:
    result = run(one_bad_tile)
    assert result.verdict is Verdict.VIOLATES
    witness = result.finding.witness
    assert witness is not None
    worst = witness.outputs[0].worst
    assert worst is not None
    m, n = witness.case.dims["M"], witness.case.dims["N"]
    assert worst.index[0] >= m - 16
    assert worst.index[1] >= n - 16
    assert worst.got == 0


@pytest.mark.parametrize(
    ("scope", "names", "reference", "turned", "multiply"),
    [
        ("A: P[M, K], B: P[N, K]", "A, B", "round(matmul(A, transpose(B)), P) in fp32", "b", lambda A, B: A @ B.T),
        ("A: P[K, M], B: P[K, N]", "A, B", "matmul(transpose(A), B) in fp32", "a", lambda A, B: A.T @ B),
        ("A: P[M, K], B: P[K, N], v: P[N]", "A, B, v", "affine(A, B, v) in fp32", "", lambda A, B, v: A @ B + v),
    ],
)
def test_other_forms_of_a_product(scope: str, names: str, reference: str, turned: str, multiply: Any) -> None:
    c = contract(scope=scope, names=names, reference=reference, format="fp32", line="freivalds 2, large(600)")
    form = form_of(c, c.bound[0])
    assert form is not None
    assert form.turned == turned
    assert run(multiply, c).verdict is Verdict.CONFORMS

    def wrong(*given: Any) -> Any:
        out = multiply(*given)
        if out.size > 1000:
            out[-3, -5] *= np.float32(1.5)
        return out

    found = run(wrong, c)
    assert found.verdict is Verdict.VIOLATES
    worst = found.finding.witness.outputs[0].worst  # type: ignore[union-attr]
    dims = found.finding.witness.case.dims  # type: ignore[union-attr]
    assert worst is not None
    assert worst.index == (dims["M"] - 3, dims["N"] - 5)


def test_a_reference_that_is_no_product_is_refused_in_one_sentence() -> None:
    c = contract(reference="round(matmul(A, B) * 2.0, P) in fp32")
    with pytest.raises(UsageError, match="one product of two matrices"):
        planned(c, c.bound[0], 1, 0, None)


@pytest.mark.parametrize(
    ("line", "words"), [("freivalds huge(3)", "no shape family huge"), ("freivalds 0", "at least 1")]
)
def test_what_the_line_may_say(line: str, words: str) -> None:
    with pytest.raises(LanguageError, match=words):
        contract(line=line)


def test_the_line_alone_means_a_few_large_products() -> None:
    c = contract(line="freivalds large(2048)")
    cases = planned(c, c.bound[0], 1, 7, None)
    assert [case.id for case in cases] == [7, 8, 9, 10]
    assert cases[0].dims == {"M": 2048, "N": 2048, "K": 2048}
    assert len(planned(c, c.bound[0], 1, 7, 2)) == 2, "fewer where the user asks for fewer"

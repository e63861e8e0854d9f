"""Preconditions: which sizes, parameters and inputs they admit, however they are written."""

from __future__ import annotations

import math

import contract_texts as kc
import pytest

from kernel_contracts.contracts.model import Contract, Range
from kernel_contracts.contracts.precondition import holds

SCOPE = "scale (x: fp32[M, N], index: int64[N]; eps: real = 1e-5, k: int = 2, flag: bool = false) -> y: fp32[M, N]"


def with_pre(pre: str) -> Contract:
    return kc.one(scope=SCOPE, reference="{ y = x + eps }", pre=pre)


@pytest.mark.parametrize(
    ("pre", "low", "high", "choices"),
    [
        ("N in 1..1024", 1, 1024, None),
        ("N in {64, 16, 32}", 16, 64, (16, 32, 64)),
        ("N <= 100", 0, 100, None),
        ("N < 100", 0, 99, None),
        ("100 >= N", 0, 100, None),
        ("100 > N", 0, 99, None),
        ("N >= 8 and N <= 100", 8, 100, None),
        ("8 <= N and 100 >= N", 8, 100, None),
        ("N > 8 and N in 1..64", 9, 64, None),
        ("8 < N and N < 10", 9, 9, None),
        ("8 <= N <= 100", 8, 100, None),
        ("8 < N < 10", 9, 9, None),
        ("N == 7", 7, 7, None),
        ("7 == N", 7, 7, None),
        ("N in {8, 16, 64} and N <= 16", 8, 16, (8, 16)),
        ("N in {8, 16, 64} and N in {16, 64, 128}", 16, 64, (16, 64)),
        ("M, N in 2..5", 2, 5, None),
        ("N in 2 ^ 3..2 ^ 4", 8, 16, None),
        ("M in 1..3", 1, 2**31, None),
    ],
)
def test_a_range_of_sizes(pre: str, low: int, high: int, choices: tuple[int, ...] | None) -> None:
    contract = with_pre(pre)
    r = contract.pre.ranges["N"]
    assert (r.choices, r.choices or (r.low, r.high)) == (choices, choices or (low, high))
    for n in range(140):
        assert holds(contract.pre, {"N": n, "M": 3}, contract.defaults()) == (
            n in choices if choices else low <= n <= high
        )


@pytest.mark.parametrize(
    ("pre", "inside", "outside"),
    [
        ("eps in 1e-8..1e-2", [1e-8, 1e-3, 1e-2], [1e-9, 0.1]),
        ("eps > 0", [5e-324, 1.0], [0.0, -1.0]),
        ("eps >= 0", [0.0, 1.0], [-5e-324]),
        ("0 < eps", [1e-300], [0.0]),
        ("eps < 1", [0.999], [1.0, 2.0]),
        ("eps <= 1", [1.0], [1.0000001]),
        ("eps in {0.5, 0.25}", [0.5, 0.25], [0.3]),
    ],
)
def test_a_range_of_a_parameter_keeps_its_open_ends(pre: str, inside: list[float], outside: list[float]) -> None:
    pre_ = with_pre(pre).pre
    assert all(holds(pre_, {"M": 1, "N": 1}, {"eps": v}) for v in inside)
    assert not any(holds(pre_, {"M": 1, "N": 1}, {"eps": v}) for v in outside)


@pytest.mark.parametrize(
    ("pre", "admitted"),
    [
        ("M <= N", lambda m, n: m <= n),
        ("M * N <= 12", lambda m, n: m * n <= 12),
        ("N % 4 == 0", lambda m, n: n % 4 == 0),
        ("N % M == 0 and M >= 1", lambda m, n: m >= 1 and n % m == 0),
        ("M == N or N == 3", lambda m, n: n in (m, 3)),
        ("not M == N", lambda m, n: m != n),
        ("M != N", lambda m, n: m != n),
        ("N // 2 + 1 >= M ^ 2", lambda m, n: n // 2 + 1 >= m * m),
        ("M + k in 3..4", lambda m, n: m + 2 in (3, 4)),
        ("M in 1..N", lambda m, n: 1 <= m <= n),
        ("1 <= M and M <= N and N <= 5", lambda m, n: 1 <= m <= n <= 5),
    ],
)
def test_a_condition_over_several_sizes(pre: str, admitted: object) -> None:
    contract = with_pre(pre)
    for m in range(1, 7):
        for n in range(1, 7):
            assert holds(contract.pre, {"M": m, "N": n}, contract.defaults()) == admitted(m, n), (m, n)  # type: ignore[operator]


def test_facts_about_inputs() -> None:
    facts = with_pre("finite(x) and positive(x) and 0 <= index and index < N").pre.facts
    assert facts["x"].positive
    assert (facts["index"].low, facts["index"].high) == (0, ("-", "N", 1))
    facts = with_pre("abs(x) <= 80 and index in 0..N - 1").pre.facts
    assert facts["x"].limit == 80.0
    assert (facts["index"].low, facts["index"].high) == (0, ("-", "N", 1))
    facts = with_pre("x > 0 and index > 3 and index <= N").pre.facts
    assert facts["x"].positive
    assert (facts["index"].low, facts["index"].high) == (4, "N")
    assert with_pre("80 >= abs(x)").pre.facts["x"].limit == 80.0
    assert with_pre("M in 1..4").pre.facts == {}


@pytest.mark.parametrize(
    ("pre", "code", "says"),
    [
        ("L in 1..4", "N201", "L is not known here"),
        ("L < 4", "N204", "L has no value here"),
        ("finite(z)", "N207", "finite(z) must name an input"),
        ("finite(x + x)", "N207", "an expression"),
        ("N in 4..1", "T311", "write 1..4"),
        ("N in 1..4 and N in 6..9", "T311", "no size N meets"),
        ("N < 4 and N > 4", "T311", "no size N meets"),
        ("N in {1, 2} and N in {3}", "T311", "no size N meets"),
        ("N", "T312", "true or false"),
        ("N in x", "N204", "x has no value here"),
        ("N in 3", "T310", "low..high"),
        ("index in {1, 2}", "T310", "write index in 0..V - 1"),
        ("sum(x) > 0", "T303", "before any input is"),
        ("N / 0 > 1", "T303", "has no value"),
        ("log2(N - 1) > 1", "T303", "log2(0) has no value"),
        ("sqrt(M, N) > 1", "T303", "sqrt(1, 1) has no value"),
    ],
)
def test_a_precondition_that_makes_no_sense(pre: str, code: str, says: str) -> None:
    found = kc.wrong(scope=SCOPE, reference="{ y = x + eps }", pre=pre)
    assert found.code == code
    assert says in str(found)
    assert found.span.line == 4


def test_meeting_ranges() -> None:
    assert Range(1, 8).meet(Range(4, 16)) == Range(4, 8)
    assert Range(1, 8, (1, 8)).meet(Range(4, 16)) == Range(4, 8, (8,))
    assert not Range(-math.inf, 3).holds(math.nan)
    assert Range(2, 4, (2, 4)).holds(4)
    assert not Range(2, 4, (2, 4)).holds(3)

"""Special values: where they are put, what is due under each policy, and what a kernel that differs is called."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from policy_kernels import declared, judged, story

from kernel_contracts.classes import classes
from kernel_contracts.contracts.evidence import Outcome, Verdict
from kernel_contracts.measurement.calls import CallResult
from kernel_contracts.measurement.experiments import experiments
from kernel_contracts.measurement.injection import Injection, inject, parse, written

PAIR = "pair for P in {fp32} (a: P[R, N], b: P[R, N]) -> y: P[R, N]"
ROW = "row for P in {fp32} (x: P[R, N]) -> y: P[R]"
SIZES = "R in 1..64 and N in 1..1024"
BOTH = "nan = propagate and inf = propagate"
Kernel = Callable[..., Any]


def refuse(*arrays: Any) -> Any:
    if any(np.isnan(a).any() for a in arrays):
        return CallResult(Outcome.RAISED, "ValueError: NaN")
    return np.maximum(*arrays)


MAXIMUM: dict[str, Kernel] = {"propagate": np.maximum, "number_wins": np.fmax, "raise": refuse}


@pytest.mark.parametrize("policy", sorted(MAXIMUM))
@pytest.mark.parametrize("follows", sorted(MAXIMUM))
def test_a_kernel_conforms_to_the_policy_that_it_follows_and_to_no_other(policy: str, follows: str) -> None:
    contract = declared("C-EXC-01", PAIR, SIZES, "y = maximum(a, b)", f"nan = {policy} and inf = propagate")
    finding, _ = judged(contract, MAXIMUM[follows])
    assert (finding.verdict is Verdict.CONFORMS) == (policy == follows), story(finding)
    assert any(n.startswith(f"nan: {follows}") for n in finding.notes)
    if policy == "raise" and policy != follows:
        assert finding.signature is not None
        assert finding.signature.name == "not_raised"


@pytest.mark.parametrize("follows", sorted(MAXIMUM))
def test_what_is_not_declared_is_named_and_no_accusation(follows: str) -> None:
    contract = declared("C-EXC-01", PAIR, SIZES, "y = maximum(a, b)", "inf = propagate")
    finding, _ = judged(contract, MAXIMUM[follows])
    assert finding.verdict is Verdict.UNDER_SPECIFIED, story(finding)
    assert f"nan: {follows}" in finding.reason


def test_one_of_several_declared_policies_is_enough() -> None:
    policies = "nan = propagate or number_wins and inf = propagate"
    contract = declared("C-EXC-01", PAIR, SIZES, "y = maximum(a, b)", policies)
    for follows in ("propagate", "number_wins"):
        assert judged(contract, MAXIMUM[follows])[0].verdict is Verdict.CONFORMS
    assert judged(contract, lambda a, b: np.nan_to_num(np.maximum(a, b)))[0].verdict is Verdict.VIOLATES


def test_saturation_is_a_policy_of_its_own() -> None:
    top = np.finfo(np.float32).max

    def saturating(a: Any, b: Any) -> Any:
        y = np.maximum(a, b)
        return np.where(np.isinf(y), np.copysign(top, y), y).astype(np.float32)

    for policy, right in (("saturate", True), ("propagate", False)):
        contract = declared("C-EXC-01", PAIR, SIZES, "y = maximum(a, b)", f"nan = propagate and inf = {policy}")
        finding, _ = judged(contract, saturating)
        assert (finding.verdict is Verdict.CONFORMS) is right, story(finding)
        assert "inf: saturate" in finding.notes


def seen_at(lanes: Callable[[int], Any]) -> Kernel:
    """The largest element of a row; NaN counts only in the lanes that the function names."""

    def kernel(x: Any) -> Any:
        kept = np.isnan(x)
        kept[..., lanes(x.shape[-1])] = False
        return np.max(np.where(kept, -np.inf, x), axis=-1).astype(np.float32)

    return kernel


@pytest.mark.parametrize("lane", range(17))
def test_nan_that_is_lost_in_one_lane_is_found(lane: int) -> None:
    contract = declared("C-EXC-01", ROW, SIZES, "y = max(x, axis = -1)", BOTH)
    finding, _ = judged(contract, seen_at(lambda n: [k for k in range(n) if k != lane]))
    assert finding.verdict is Verdict.VIOLATES
    assert finding.signature is not None
    assert finding.signature.name in (
        "position_dependent",
        "inf_for_nan",
    )


def test_the_lanes_are_told_apart_in_words() -> None:
    contract = declared("C-EXC-01", ROW, SIZES, "y = max(x, axis = -1)", BOTH)
    finding, _ = judged(contract, seen_at(lambda n: slice(0, 1)))
    assert finding.signature is not None
    assert finding.signature.name == "position_dependent"
    assert re.search(r"NaN in x is found at \d+ and lost at \d+", finding.signature.detail)


def spread(a: Any, b: Any) -> Any:
    y = a + b
    return np.where(np.isnan(y).any(axis=-1, keepdims=True), np.float32(np.nan), y)


def disturbed(a: Any, b: Any) -> Any:
    y = a + b
    return np.where(np.isnan(y).any() & np.isfinite(y), np.nextafter(y, np.float32(np.inf)), y)


FAULTS: list[tuple[str, Kernel]] = [
    ("nan_lost", lambda a, b: np.nan_to_num(a, nan=0.0, posinf=np.inf, neginf=-np.inf) + b),
    ("nan_spread", spread),
    ("inf_for_nan", lambda a, b: np.where(np.isnan(a + b), np.float32(np.inf), a + b)),
    ("inf_sign_wrong", lambda a, b: np.where(np.isinf(a + b), np.float32(np.inf), a + b)),
    ("inf_lost", lambda a, b: np.clip(a + b, np.finfo(np.float32).min, np.finfo(np.float32).max)),
    ("finite_changed", disturbed),
    ("sign_of_zero_lost", lambda a, b: a + b + np.float32(0.0)),
]


@pytest.mark.parametrize(("name", "kernel"), FAULTS, ids=[n for n, _ in FAULTS])
def test_a_fault_is_called_by_its_name(name: str, kernel: Kernel) -> None:
    """Products keep the sign of zero in more places than sums, so that fault is shown on them."""
    if name == "sign_of_zero_lost":
        contract = declared("C-EXC-01", PAIR, SIZES, "y = round(a * b, P)", f"{BOTH} and signed_zero = preserve")
        finding, _ = judged(contract, lambda a, b: a * b + np.float32(0.0))
    else:
        contract = declared("C-EXC-01", PAIR, SIZES, "y = round(a + b, P)", BOTH)
        finding, _ = judged(contract, kernel)
    assert finding.verdict is Verdict.VIOLATES
    assert finding.signature is not None
    assert finding.signature.name == name, story(finding)
    assert finding.failures < finding.samples


def test_the_sign_of_zero_is_nobodys_business_unless_declared() -> None:
    contract = declared("C-EXC-01", PAIR, SIZES, "y = round(a * b, P)", BOTH)
    assert judged(contract, lambda a, b: a * b + np.float32(0.0))[0].verdict is Verdict.CONFORMS


def test_a_tolerance_covers_what_does_not_depend_on_the_special_value() -> None:
    """Without `bitwise equal` other bits are no fault: a kernel may take another path for a row with NaN in it."""

    def other_path(a: Any, b: Any) -> Any:
        return disturbed(a, b) if np.isnan(a).any() else a + b

    loose = declared("C-EXC-01", PAIR, SIZES, "y = a + b in P", BOTH, claim="within tolerance of")
    strict = declared("C-EXC-01", PAIR, SIZES, "y = round(a + b, P)", BOTH)
    assert judged(loose, lambda a, b: (a.astype(np.float64) + b).astype(np.float32))[0].verdict is Verdict.CONFORMS
    assert judged(strict, other_path)[0].verdict is Verdict.VIOLATES


def test_a_mask_is_what_the_reference_says() -> None:
    contract = declared("C-EXC-01", PAIR, SIZES, "y = where(a == a, a, b)", "nan = mask and inf = propagate")
    assert judged(contract, lambda a, b: np.where(np.isnan(a), b, a))[0].verdict is Verdict.CONFORMS
    assert judged(contract, lambda a, b: np.where(np.isfinite(a), a, b))[0].verdict is Verdict.VIOLATES


def test_a_kernel_that_refuses_everything_is_not_accused() -> None:
    contract = declared("C-EXC-01", PAIR, SIZES, "y = maximum(a, b)", BOTH)
    finding, _ = judged(contract, lambda a, b: CallResult(Outcome.RAISED, "TypeError: no"))
    assert finding.verdict is Verdict.INAPPLICABLE


def test_every_lane_of_both_operands_and_the_edges_of_tiles_get_nan() -> None:
    contract = declared("C-EXC-01", PAIR, SIZES, "y = maximum(a, b)", BOTH)
    bound = contract.bound[0]
    plan = classes()["C-EXC-01"].plan(contract, bound)
    cases = experiments()["special_values"].cases(contract, bound, plan, seed=1)
    placed: dict[tuple[str, int], set[int]] = {}
    for case in cases:
        found = parse(case.family)
        if len(found) == 1 and found[0].value == "nan" and found[0].position is not None:
            n = case.dims["N"]
            placed.setdefault((found[0].name, n), set()).add(found[0].position % n)
    for name in ("a", "b"):
        assert placed[name, 17] == set(range(17))
        assert {0, 15, 16, 31, 32, 63, 64, 127, 128} <= placed[name, 129]
        assert placed[name, 33] >= {0, 15, 16, 31, 32}
    texts = {c.family for c in cases}
    assert any(t.count("inf at a") and t.count("-inf at b") for t in texts)
    assert any(t.startswith("0 at a") and "inf at b" in t for t in texts)


def test_a_case_says_what_is_put_where() -> None:
    made = (Injection("nan", "a", 5), Injection("-inf", "b", None))
    assert written(made) == "nan at a[5], -inf at b[*]"
    assert parse(written(made)) == made
    assert parse(written(())) == ()
    out = inject({"a": np.zeros((2, 2)), "b": np.zeros(3)}, made)
    assert np.isnan(out["a"][0, 1])  # a position is taken modulo the size
    assert (out["b"] == -np.inf).all()

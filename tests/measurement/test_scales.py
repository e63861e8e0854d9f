"""Calls at several scales: where bits must agree, who is accused of what, and who never is."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest
from kernels_in_process import Function

from kernel_contracts.classes import classes
from kernel_contracts.contracts.catalogue import load_text
from kernel_contracts.contracts.evidence import Case, Finding, Layout, Observation, Verdict
from kernel_contracts.contracts.model import Bound, Contract
from kernel_contracts.formats import FORMATS
from kernel_contracts.measurement.away import compare, ends_met, inside
from kernel_contracts.measurement.experiments import experiments
from kernel_contracts.measurement.experiments.scales import exponents
from kernel_contracts.measurement.session import Session
from kernel_contracts.numerics.bounded import Bounded
from kernel_contracts.numerics.interpret import Instance, emulate
from kernel_contracts.numerics.operators.base import EmulateContext
from kernel_contracts.numerics.summation import Order
from kernel_contracts.oracles import ladder
from kernel_contracts.vocabulary import vocabulary

HEAD = """contract c version 1.0 implements C-PRC-04
{{
  scope     op for P in {{fp16}} {scope}
  pre       N in 1..64 and scale in 2^-30..2^30 and finite(g)
  post      {post}
  reference {{ {reference} }}
}}
"""
SCOPE = "(g: P[N]; scale: real = 1.0) -> h: fp32[N]"
POST = "h within tolerance of reference and h bitwise equal across scales(2^0..2^15, g, scale) away from range ends"


def contract(reference: str = "h = g * (1.0 / scale) in fp32", scope: str = SCOPE, post: str = POST) -> Contract:
    (found,) = load_text(HEAD.format(scope=scope, post=post, reference=reference), "c.kc", vocabulary())
    return found


def away(c: Contract, g: Any, exponent: int, *, scale: float = 1.0, carried: bool = True) -> np.ndarray[Any, Any]:
    bound = c.bound[0]
    g = np.asarray(g, dtype=np.float64)
    dims = {"N": g.size}
    base = Instance(bound.program, dims, {"g": g}, {"scale": scale})
    moved = np.ldexp(g, exponent).astype(np.float16).astype(np.float64) if carried else g
    with np.errstate(all="ignore"):
        scaled = Instance(bound.program, dims, {"g": moved}, {"scale": scale * 2.0**exponent})
        return compare(base, scaled, bound.context).away["h"]


@pytest.mark.parametrize(
    ("g", "exponent", "expected"),
    [
        ([1.0, -3.5, 0.0], 4, [True, True, True]),
        ([2.0**-14, 2.0**-15, 2.0**-24], 4, [True, False, False]),  # subnormal before
        ([2.0**-10, 2.0**-14, 1.0], -4, [True, False, True]),  # subnormal after
        ([1.0, 4096.0, 65504.0], 4, [True, False, False]),  # too large after
        ([2047.0, 2.0**-13 + 2.0**-23, 1.5], 0, [True, True, True]),
    ],
)
def test_elements_near_the_ends_of_fp16_are_left_out(g: list[float], exponent: int, expected: list[bool]) -> None:
    with np.errstate(over="ignore"):
        assert away(contract(), g, exponent).tolist() == expected


def test_a_floor_that_does_not_scale_is_noticed() -> None:
    floored = contract("h = g / maximum(max(abs(g)), 0.25) in fp32", post=POST.replace("g, scale", "g"))
    assert away(floored, [1.0, 0.5], 3).all()
    assert not away(floored, [0.0625, 0.125], 3).any()


def test_one_element_near_the_end_takes_a_whole_sum_with_it() -> None:
    normed = contract("h = g / sqrt(sum(g * g)) in fp32", post=POST.replace("g, scale", "g"))
    assert away(normed, [1.0, 2.0, 4.0], 2).all()
    assert not away(normed, [1.0, 2.0, 2.0**-20], 2).any()


def test_what_an_intermediate_in_fp16_loses_is_left_out() -> None:
    held = contract("h = round(g * scale, fp16) * (1.0 / scale) in fp32", post=POST.replace("g, scale", "scale"))
    found = away(held, [1.0, 2.0**-13, 2.0**-5], -4, carried=False)
    assert found.tolist() == [True, False, True]
    with np.errstate(over="ignore"):
        assert away(held, [1.0, 2.0**-13, 64.0], 12, carried=False).tolist() == [True, True, False]


def test_inside_counts_the_radius() -> None:
    fmt = FORMATS["fp16"]
    x = Bounded(np.asarray([2.0**-14, 2.0**-14, 65504.0, 65504.0, 0.0, 0.0]), np.asarray([0, 1e-9, 0, 1.0, 0, 1e-9]))
    assert inside(x, fmt, room=False).tolist() == [True, False, True, False, True, False]
    assert inside(x, fmt, room=False, grain=2.0**-14).tolist() == [True, True, True, False, True, True]
    assert inside(x, fmt, room=True).tolist() == [False, False, True, False, True, False]


def test_what_leaves_the_range_is_counted() -> None:
    held = contract("h = round(g * scale, fp16) * (1.0 / scale) in fp32")
    g = np.asarray([1.0, 2.0**-12, 2.0**-13])
    counts = [
        ends_met(Instance(held.bound[0].program, {"N": 3}, {"g": g}, {"scale": s})) for s in (1.0, 2.0**-4, 2.0**16)
    ]
    assert counts[0] == {"underflowed": 0, "lost": 0, "overflowed": 0}
    assert counts[1] == {"underflowed": 2, "lost": 0, "overflowed": 0}
    assert counts[2] == {"underflowed": 0, "lost": 0, "overflowed": 1}


PROGRAMS = [
    ("h = g * (1.0 / scale) in fp32", "g, scale", True),
    ("h = g / sqrt(sum(g * g)) in fp32", "g", True),
    ("h = g * minimum(1.0 / (sqrt(sum((g / scale) * (g / scale))) + 1e-6), 1.0) / scale in fp32", "g, scale", True),
    ("h = round(sum(g * scale), fp16) * (1.0 / scale) * g in fp32", "scale", False),
    ("h = (g * scale - cumsum(g, axis = 0) * scale) / scale in fp32", "scale", False),
]


@pytest.mark.parametrize("flush", [False, True])
@pytest.mark.parametrize(("reference", "carriers", "carried"), PROGRAMS)
def test_every_conforming_execution_keeps_its_bits_away_from_the_ends(
    reference: str, carriers: str, carried: bool, flush: bool
) -> None:
    """Any order, with and without fused steps and flushing: where the promise binds, it is kept."""
    c = contract(reference, post=POST.replace("g, scale", carriers))
    bound, rng, compared = c.bound[0], np.random.default_rng(7), 0
    for trial, exponent in itertools.product(range(12), (-9, 3, 11)):
        spread = float(rng.choice([0.1, 3.0, 8.0]))
        g = (rng.standard_normal(9) * np.exp2(rng.uniform(-spread, spread, 9))).astype(np.float16).astype(np.float64)
        scale = float(rng.choice([1.0, 3.0, 8.0, 0.7]))
        with np.errstate(over="ignore"):
            keep = away(c, g, exponent, scale=scale, carried=carried)
            moved = np.ldexp(g, exponent).astype(np.float16).astype(np.float64) if carried else g
        order = [Order("sequential"), Order("pairwise"), Order("shuffled", 1 + trial), Order("lanes", 4)][trial % 4]
        how = EmulateContext(order, fma=bool(trial % 2), flush=flush)
        with np.errstate(all="ignore"):
            first = emulate(Instance(bound.program, {"N": 9}, {"g": g}, {"scale": scale}), how)["h"]
            inputs, scalars = {"g": moved}, {"scale": scale * 2.0**exponent}
            second = emulate(Instance(bound.program, {"N": 9}, inputs, scalars), how)["h"]
        assert np.array_equal(first[keep], second[keep]), (g, scale, exponent)
        compared += int(keep.sum())
    assert compared > 50


def measured(c: Contract, function: Any, scale: float = 3.0) -> tuple[Observation, Finding]:
    bound: Bound = c.bound[0]
    session = Session(c, bound, Function(function), ladder())
    case = Case(0, "normal", {"P": "fp16"}, {"N": 32}, {"scale": scale}, Layout.CONTIGUOUS, 5)
    seen = experiments()["scales"].measure(session, case)
    return seen, classes()["C-PRC-04"].judge(c, bound, [seen])


def test_both_ends_are_called_and_one_between() -> None:
    assert {0, 15} & set(exponents(0, 15, 3)) == {15}
    assert exponents(-4, 4, 3)[0] == -4
    assert exponents(10, 10, 1) == [10]
    assert len({tuple(exponents(0, 15, s)) for s in range(20)}) > 5


def test_a_path_of_its_own_for_large_scales_is_scale_dependent() -> None:
    """Both ways are within the bound, and an ordinary comparison never sees the difference."""

    def kernel(g: Any, *, scale: float) -> Any:
        wide = g.astype(np.float32)
        return wide / np.float32(scale) if scale < 1000 else wide * (np.float32(1) / np.float32(scale))

    seen, found = measured(contract(), kernel)
    assert seen.ratio <= 1
    assert seen.facts["scales"] == "differ"
    assert found.signature is not None
    assert found.signature.name == "scale_dependent"
    assert "at 2^15 times the scale" in found.signature.detail or "at 2^" in found.signature.detail


def test_either_way_alone_conforms() -> None:
    for kernel in (
        lambda g, *, scale: g.astype(np.float32) / np.float32(scale),
        lambda g, *, scale: g.astype(np.float32) * (np.float32(1) / np.float32(scale)),
        lambda g, *, scale: (g.astype(np.float64) / scale).astype(np.float32),
    ):
        seen, found = measured(contract(), kernel)
        assert found.verdict is Verdict.CONFORMS, found
        assert seen.readings["scaled_calls"] >= 1


def test_a_kernel_that_is_not_steady_is_not_accused_of_scales() -> None:
    rng = np.random.default_rng(0)

    def kernel(g: Any, *, scale: float) -> Any:
        wide, s = g.astype(np.float32), np.float32(scale)
        return np.where(rng.random(g.shape) < 0.5, wide / s, wide * (np.float32(1) / s))

    seen, found = measured(contract(), kernel)
    assert seen.facts["scales"] == "unsteady"
    assert found.verdict is Verdict.INCONCLUSIVE
    assert "change by themselves" in found.reason


def test_a_kernel_that_is_unsteady_only_now_and_then_is_not_accused_either() -> None:
    calls = itertools.count()

    def kernel(g: Any, *, scale: float) -> Any:
        wide, s = g.astype(np.float32), np.float32(scale)
        return wide / s if next(calls) % 4 < 2 else wide * (np.float32(1) / s)

    seen, found = measured(contract(), kernel)
    assert seen.facts["scales"] == "unsteady"
    assert found.verdict is Verdict.INCONCLUSIVE


def test_a_failure_at_another_scale_alone_is_a_failure_by_value() -> None:
    def kernel(g: Any, *, scale: float) -> Any:
        h = g.astype(np.float32) / np.float32(scale)
        return h / np.float32(scale) if scale != 1 else h

    seen, found = measured(contract(), kernel, scale=1.0)
    assert found.verdict is Verdict.VIOLATES
    assert seen.readings["exponent"] > 0
    assert found.signature is not None
    assert found.signature.name == "unscaled_twice"
    assert str(2.0 ** seen.readings["exponent"]).removesuffix(".0") in found.signature.detail.replace("e+0", "e+")


def test_a_reference_that_does_not_scale_accuses_nobody() -> None:
    """The contract claims what its own reference does not do: nothing is away from the ends, nothing is decided."""
    c = contract("h = g + 1.0 in fp32", post=POST.replace("g, scale", "g"))
    _, found = measured(c, lambda g, *, scale: g.astype(np.float32) + np.float32(1))
    assert found.verdict is Verdict.INCONCLUSIVE

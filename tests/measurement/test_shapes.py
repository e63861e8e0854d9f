"""Shape families respect ranges, choices and the budget, and hit the extents they are for."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kernel_contracts.errors import UsageError
from kernel_contracts.measurement.shapes import (
    BUDGET,
    ORDINARY,
    DimRange,
    candidate_shapes,
    shape_families,
    work,
)

NAMES = sorted(shape_families())
GEMM = {d: DimRange(1, 65536) for d in "MNK"}


def bindings(name: str, dims: dict[str, DimRange], *arguments: float, budget: int = BUDGET) -> list[dict[str, int]]:
    return shape_families()[name].generate(dims, np.random.default_rng(1), *arguments, budget=budget)


@st.composite
def ranges(draw: st.DrawFn) -> DimRange:
    low = draw(st.sampled_from([0, 0, 1, 1, 2, 30]))
    high = low + draw(st.sampled_from([0, 1, 5, 300, 2**31]))
    if draw(st.booleans()) and draw(st.booleans()):
        choices = tuple(draw(st.lists(st.integers(low, min(high, 512)), min_size=1, max_size=4, unique=True)))
        return DimRange(low, high, choices)
    return DimRange(low, high)


@pytest.mark.parametrize("name", NAMES)
@settings(max_examples=100, deadline=None)
@given(dims=st.dictionaries(st.sampled_from("MNKBH"), ranges(), max_size=5), seed=st.integers(0, 999))
def test_every_binding_is_admitted_and_within_budget(name: str, dims: dict[str, DimRange], seed: int) -> None:
    budget = 2**18
    found = shape_families()[name].generate(dims, np.random.default_rng(seed), budget=budget)
    assert len({tuple(b.items()) for b in found}) == len(found)
    for binding in found:
        assert list(binding) == list(dims)
        assert all(dims[d].admits(n) for d, n in binding.items())
        assert work(binding) <= budget
        assert all(type(n) is int for n in binding.values())


def test_tails_surround_the_tile_in_each_dim_with_distinct_extents() -> None:
    found = bindings("tails", GEMM, 128)
    for dim in GEMM:
        assert {127, 128, 129, 255, 257} <= {b[dim] for b in found}
    for binding in found:
        assert len(set(binding.values())) == 3


def test_primes_thin_one_and_empty() -> None:
    for binding in bindings("primes", GEMM):
        assert all(n > 1 and all(n % d for d in range(2, n)) for n in binding.values())
        assert len(set(binding.values())) == 3
    thin = bindings("thin", GEMM)
    assert len(thin) == 6
    assert all(min(b.values()) <= 3 and max(b.values()) >= 400 for b in thin)
    ones = bindings("one", GEMM)
    assert {"M": 1, "N": 1, "K": 1} in ones
    assert all(any(b[d] == 1 and max(b.values()) > 1 for b in ones) for d in GEMM)
    assert bindings("empty", GEMM) == []
    empty = bindings("empty", {"N": DimRange(0, 100), "D": DimRange(1, 100)})
    assert [b["N"] for b in empty] == [0]
    assert empty[0]["D"] >= 1


def test_large_and_square_use_the_budget() -> None:
    large = bindings("large", GEMM, 4096)
    assert any(b["K"] == 4096 for b in large)
    assert any(b["K"] == 4095 for b in large)
    assert max(work(b) for b in large) > BUDGET / 2
    assert bindings("square", GEMM, 64) == [{"M": 64, "N": 64, "K": 64}]
    (square,) = bindings("square", GEMM, 4096)
    assert len(set(square.values())) == 1
    assert BUDGET / 2 < work(square) <= BUDGET


def test_ordinary_and_held_out_never_meet() -> None:
    for binding in bindings("ordinary", GEMM):
        assert all(n in ORDINARY for n in binding.values())
    held_out = bindings("held_out", GEMM, 20)
    assert len(held_out) > 15
    assert not any(n in ORDINARY or n % 8 == 0 for b in held_out for n in b.values())
    for binding in bindings("powers", GEMM):
        assert all(n & (n - 1) == 0 for n in binding.values())


def test_choices_are_kept() -> None:
    dims = {"S": DimRange(1, 4096), "D": DimRange(1, 512, (64, 128, 256))}
    for name in NAMES:
        assert all(b["D"] in (64, 128, 256) for b in bindings(name, dims))
    assert {b["D"] for b in bindings("tails", dims, 128)} == {64, 128, 256}


def test_merging_keeps_every_provenance_once() -> None:
    items = [("tails", (64.0,)), ("square", (64.0,)), ("ordinary", ()), ("square", (64.0,))]
    found = candidate_shapes(items, GEMM, np.random.default_rng(0), BUDGET)
    keys = [tuple(c.dims.items()) for c in found]
    assert len(set(keys)) == len(keys)
    (square,) = [c for c in found if set(c.dims.values()) == {64}]
    assert square.families == ("square(64)", "ordinary")
    assert square.family == "square(64), ordinary"
    assert any(c.family == "tails(64)" for c in found)


def test_no_dims_and_wrong_requests() -> None:
    rng = np.random.default_rng(0)
    assert [c.dims for c in candidate_shapes([("ordinary", ()), ("primes", ())], {}, rng)] == [{}]
    with pytest.raises(UsageError, match=r"tail: not known; choose one of .*tails"):
        candidate_shapes([("tail", ())], GEMM, rng)
    with pytest.raises(UsageError, match="square: got 2 arguments, it accepts n"):
        candidate_shapes([("square", (1.0, 2.0))], GEMM, rng)
    with pytest.raises(UsageError, match="widen"):
        DimRange(5, 4)
    with pytest.raises(UsageError, match="widen"):
        DimRange(1, 4, (7,))

"""The order of a sum is read off its answers: every planted tree is found again, and what is no tree is refused."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kernel_contracts.errors import ArithmeticScopeError
from kernel_contracts.formats import BF16, FORMATS, FP16, FP32, FP64, Format
from kernel_contracts.measurement.orders import draw, name_of, planted, same
from kernel_contracts.measurement.tree import NoTreeError, Tree, confirm, execute, mask, reveal
from kernel_contracts.numerics.bounded import Array
from kernel_contracts.numerics.rounding import round_to
from kernel_contracts.numerics.summation import Order, sum_terms

Add = Callable[[np.ndarray], float]


def by(tree: Tree, fmt: Format = FP32) -> Add:
    return lambda x: float(execute(tree, x, fmt))


def found(add: Add, n: int, fmt: Format = FP32, seed: int = 0) -> Tree:
    return reveal(add, n, mask(n, fmt, fmt, fmt), seed)


PLANTED = [
    ("sequential", 0, "sequential"),
    ("reversed", 0, "reversed"),
    ("pairwise", 0, "pairwise"),
    ("blocked", 8, "blocked(8)"),
    ("blocked", 7, "blocked(7)"),
    ("lanes", 8, "lanes(8) folded pairwise"),
]


@pytest.mark.parametrize("n", [21, 40, 64])
@pytest.mark.parametrize(("name", "size", "expected"), PLANTED)
def test_a_planted_order_is_found_and_named(name: str, size: int, expected: str, n: int) -> None:
    tree = planted(name, n, size)
    got = found(by(tree), n, seed=n)
    assert same(got, tree)
    assert name_of(got).startswith(expected)
    assert got.depth == tree.depth


@pytest.mark.parametrize(
    ("order", "tree"),
    [
        (Order("sequential"), planted("sequential", 37)),
        (Order("reversed"), planted("reversed", 37)),
        (Order("pairwise"), planted("pairwise", 37)),
        (Order("blocked", 5), planted("blocked", 37, 5)),
        (Order("split", 4), planted("split", 37, 4)),
    ],
    ids=lambda p: str(p) if isinstance(p, Order) else "",
)
def test_the_orders_that_are_emulated_are_the_trees_of_the_same_name(order: Order, tree: Tree) -> None:
    assert same(found(lambda x: float(sum_terms(x, FP32, order)), 37), tree)


def test_halves_and_one_fused_sum_are_told_apart_from_pairs() -> None:
    assert name_of(found(by(planted("halves", 37)), 37)) == "pairwise by halves"
    fused = found(by(planted("fused", 9)), 9)
    assert (name_of(fused), fused.fused, fused.depth) == ("one sum of 9 terms", 9, 1)


@st.composite
def trees(draw: st.DrawFn) -> Tree:
    """Any tree at all, nodes of several terms included."""
    n = draw(st.integers(1, 24))
    left, steps = list(range(n)), []
    while len(left) > 1:
        count = draw(st.integers(2, min(4, len(left))))
        picked = [left.pop(draw(st.integers(0, len(left) - 1))) for _ in range(count)]
        steps.append(tuple(picked))
        left.append(n + len(steps) - 1)
    return Tree(n, tuple(steps))


@given(trees(), st.integers(0, 1000))
@settings(max_examples=120, deadline=None)
def test_any_tree_is_found_again(tree: Tree, seed: int) -> None:
    got = found(by(tree), tree.n, seed=seed)
    assert same(got, tree)
    assert (got.depth, got.fused) == (tree.depth, tree.fused)
    assert len(got.leaves()[-1]) == tree.n
    assert confirm(got, by(tree), FP32, FP32, FP32) == 16


@pytest.mark.parametrize("fmt", [FP64, FP32, BF16, FP16], ids=str)
def test_an_order_shows_in_narrow_formats_with_a_wider_accumulator(fmt: Format) -> None:
    tree, wide = planted("lanes", 40, 4), FP64 if fmt is FP64 else FP32

    def add(x: np.ndarray) -> float:
        return float(round_to(execute(tree, x, wide), fmt))

    assert same(reveal(add, 40, mask(40, fmt, wide, fmt)), tree)
    assert confirm(tree, add, fmt, wide, fmt) == 16


def test_another_order_is_not_confirmed() -> None:
    add = by(planted("pairwise", 64))
    assert confirm(planted("sequential", 64), add, FP32, FP32, FP32) < 8


@pytest.mark.parametrize("n", [5, 16, 40, 128, 300, 1000])
def test_numpy_adds_in_eight_lanes_and_halves_long_rows(n: int) -> None:
    def add(x: np.ndarray) -> float:
        return float(np.sum(x.astype(np.float32)))

    got = found(add, n)
    assert same(got, planted("numpy", n))
    assert confirm(got, add, FP32, FP32, FP32) == 16


def test_a_running_total_in_python_is_sequential() -> None:
    def add(x: np.ndarray) -> float:
        total = 0.0
        for v in x:
            total += float(v)
        return total

    assert name_of(found(add, 50, FP64)) == "sequential"


def compensated(x: np.ndarray) -> float:
    total = lost = np.float32(0)
    for v in x.astype(np.float32):
        y = v - lost
        t = total + y
        lost, total = (t - total) - y, t
    return float(total)


def test_what_is_no_tree_of_additions_is_refused() -> None:
    with pytest.raises(NoTreeError, match="no tree of additions fits"):
        found(lambda x: math.fsum(x), 12)
    with pytest.raises(NoTreeError, match="12 units add up to 11"):
        found(lambda x: float(execute(planted("sequential", 11), x[:11], FP32)), 12)
    rng = np.random.default_rng(0)
    with pytest.raises(NoTreeError):
        found(lambda x: float(execute(planted("sequential", 12), x[rng.permutation(12)], FP32)), 12)


@pytest.mark.parametrize("answer", [float("inf"), float("nan")])
def test_a_sum_that_leaves_the_range_is_refused_like_any_other(answer: float) -> None:
    def overflows(terms: Array) -> float:
        return float(terms.size) if (terms == terms[0]).all() else answer

    with pytest.raises(NoTreeError, match="not made of additions"):
        reveal(overflows, 8, mask(8, FP32, FP32, FP32))


def test_a_compensated_sum_looks_like_a_tree_and_is_not_confirmed() -> None:
    assert confirm(found(compensated, 40), compensated, FP32, FP32, FP32) < 16


def test_a_format_that_cannot_count_is_refused_with_a_next_step() -> None:
    with pytest.raises(ArithmeticScopeError, match="bf16 counts to 256 and not to 300; ask for fewer terms or fp32"):
        mask(300, BF16, FP32, BF16)
    with pytest.raises(ArithmeticScopeError, match="reveal the order in fp32"):
        mask(16, FORMATS["fp8_e4m3fn"], FP32, FORMATS["fp8_e4m3fn"])
    with pytest.raises(ArithmeticScopeError, match="at least one term"):
        found(lambda x: 0.0, 0)


def test_an_order_of_equal_parts_is_named_by_its_parts() -> None:
    inner = [tuple(range(lane, 32, 8)) for lane in range(8)]
    steps: list[tuple[int, ...]] = []
    tops = []
    for lane in inner:
        at = lane[0]
        for term in lane[1:]:
            steps.append((at, term))
            at = 32 + len(steps) - 1
        tops.append(at)
    at = tops[0]
    for top in tops[1:]:
        steps.append((at, top))
        at = 32 + len(steps) - 1
    tree = Tree(32, tuple(steps))
    assert name_of(tree) == "lanes(8) folded one after another"


def test_a_drawing_names_its_parts_and_ends() -> None:
    made = planted("halves", 24)
    moved = [tuple(c + 6 if c >= 24 else c for c in s) for s in made.steps]
    rest = Tree(30, (*moved, (52, 24), (53, 29), (54, 25), (55, 26), (56, 27), (57, 28)))
    lines = draw(rest)
    assert lines[0] == "0..29  depth 11  one after another:"
    assert lines[1] == "├ 0..23  pairwise by halves  depth 5"
    assert lines[2] == "├ term 24"
    assert len(draw(rest, lines=3)) == 4
    assert "more parts" in draw(rest, lines=3)[-1]


def test_a_fused_multiply_add_rounds_once() -> None:
    terms = np.array([1.0, 2.0**-24 + 2.0**-40])
    assert execute(planted("sequential", 2), terms, FP32, fused=True) == 1.0 + 2.0**-23
    assert execute(planted("sequential", 2), terms[::-1], FP32) == 1.0 + 2.0**-23
    exact = np.array([1.0, (1 + 2.0**-23) * 2.0**-24])
    assert execute(planted("sequential", 2), exact, FP32, fused=True) == 1.0 + 2.0**-23

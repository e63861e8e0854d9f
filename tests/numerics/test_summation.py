"""Each summation order really is the one it says: compared with scalar simulations in exact rational arithmetic."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

import numpy as np
import pytest

from kernel_contracts.formats import FORMATS, Format, accumulator
from kernel_contracts.numerics.bounded import BoundContext
from kernel_contracts.numerics.rounding import round_to
from kernel_contracts.numerics.summation import (
    ORDERS,
    RANK_ORDERS,
    Order,
    chunk_length,
    cumulative,
    draw_order,
    draw_rank_order,
    sum_terms,
)

ACCUMULATORS = [FORMATS[n] for n in ("fp32", "fp16", "bf16", "fp64", "fp8_e5m2")] + [accumulator(14)]
formats = pytest.mark.parametrize("fmt", ACCUMULATORS, ids=str)
Tree = int | tuple["Tree", "Tree"]


def exact_add(a: float, b: float, fmt: Format) -> float:
    """The exact sum rounded once: Fraction to float is correctly rounded, a remainder decides ties of `fmt`."""
    total = Fraction(a) + Fraction(b)
    nearest = float(total)
    if fmt.name == "fp64":
        return nearest
    rest = total - Fraction(nearest)
    if rest and round_to(nearest, fmt) != round_to(np.nextafter(nearest, np.inf if rest > 0 else -np.inf), fmt):
        nearest = float(np.nextafter(nearest, np.inf if rest > 0 else -np.inf))
    return float(round_to(nearest, fmt))


def in_tree(x: np.ndarray, tree: Tree, fmt: Format) -> float:
    if isinstance(tree, int):
        return float(x[tree])
    return exact_add(in_tree(x, tree[0], fmt), in_tree(x, tree[1], fmt), fmt)


def chain(leaves: list[Tree]) -> Tree:
    tree = leaves[0]
    for leaf in leaves[1:]:
        tree = (tree, leaf)
    return tree


def halved(leaves: list[Tree]) -> Tree:
    while len(leaves) > 1:
        pairs: list[Tree] = [(leaves[i], leaves[i + 1]) for i in range(0, len(leaves) - 1, 2)]
        leaves = pairs + ([leaves[-1]] if len(leaves) % 2 else [])
    return leaves[0]


def chunks(n: int, size: int) -> list[Tree]:
    return [chain(list(range(i, min(i + size, n)))) for i in range(0, n, size)]


TREES: dict[str, Callable[[int], Tree]] = {
    "sequential": lambda n: chain(list(range(n))),
    "reversed": lambda n: chain(list(range(n))[::-1]),
    "pairwise": lambda n: halved(list(range(n))),
    "blocked": lambda n: chain(chunks(n, 5)),
    "split": lambda n: chain(chunks(n, -(-n // 5))),
    "lanes": lambda n: halved([chain(list(range(i, n, 5))) for i in range(min(5, n))]),
    "shuffled": lambda n: chain([int(i) for i in np.random.default_rng(5).permutation(n)]),
}


def depth_of(tree: Tree) -> int:
    return 0 if isinstance(tree, int) else 1 + max(depth_of(tree[0]), depth_of(tree[1]))


def terms(n: int, fmt: Format, seed: int = 0) -> np.ndarray:
    rng = np.random.default_rng(seed)
    return round_to(rng.standard_normal(n) * 2.0 ** rng.integers(-5, 6, n), fmt)


@formats
@pytest.mark.parametrize("name", sorted(TREES))
@pytest.mark.parametrize("n", [1, 2, 3, 7, 16, 23])
def test_an_order_adds_along_its_tree(fmt: Format, name: str, n: int) -> None:
    x = terms(n, fmt, n)
    assert sum_terms(x, fmt, Order(name, 5)) == in_tree(x, TREES[name](n), fmt)


def test_orders_differ_where_rounding_shows() -> None:
    fmt = FORMATS["fp16"]
    x = terms(61, fmt)
    results = {float(sum_terms(x, fmt, Order(name, 5))) for name in ORDERS}
    assert len(results) >= 4


@formats
def test_a_random_tree_adds_every_term_once(fmt: Format) -> None:
    x = 2.0 ** np.arange(fmt.precision - 1)
    for seed in range(20):
        assert sum_terms(x, fmt, Order("tree", seed)) == 2.0 ** len(x) - 1


def test_many_sums_at_once_are_the_sums_one_by_one() -> None:
    fmt = FORMATS["bf16"]
    x = terms(6 * 33, fmt).reshape(2, 3, 33)
    for name in ORDERS:
        together = sum_terms(x, fmt, Order(name, 7))
        single = [[sum_terms(x[i, j], fmt, Order(name, 7)) for j in range(3)] for i in range(2)]
        np.testing.assert_array_equal(together, single)


def test_no_terms_give_zero() -> None:
    assert sum_terms(np.zeros((3, 0)), FORMATS["fp32"], Order("pairwise")).tolist() == [0, 0, 0]


@pytest.mark.parametrize("declared", ["sequential", "pairwise", "blocked", "split"])
@pytest.mark.parametrize("n", [1, 2, 9, 23, 64, 100])
def test_the_declared_depth_is_the_depth_of_the_tree(declared: str, n: int) -> None:
    context = BoundContext(declared, 5)
    deepest = depth_of(TREES[declared](n))
    assert deepest <= context.depth(n)
    if n >= 5 or declared in ("sequential", "pairwise"):
        # split(5) of 9 terms makes 5 parts of 2: the count of parts may be below what is declared
        assert context.depth(n) - deepest <= (1 if declared == "split" else 0)


@pytest.mark.parametrize("declared", ["any", "sequential", "pairwise", "blocked", "split"])
def test_drawn_orders_keep_to_the_declared_one(declared: str) -> None:
    rng = np.random.default_rng(0)
    drawn = [draw_order(rng, declared, 3) for _ in range(200)]
    assert {o.name for o in drawn} == (set(ORDERS) if declared == "any" else {declared})
    if declared in ("blocked", "split"):
        assert {o.size for o in drawn} == {3}
        assert str(drawn[0]) == f"{declared}(3)"


def test_chunks() -> None:
    assert chunk_length(10, Order("blocked", 4)) == 4
    assert chunk_length(10, Order("split", 4)) == 3
    assert chunk_length(0, Order("split", 4)) == chunk_length(3, Order("blocked", 0)) == 1


# ---------------------------------------------------------------------------------------------------- cumulative


@formats
def test_a_scan_in_index_order_carries_each_total(fmt: Format) -> None:
    x = terms(40, fmt)
    expected = [float(x[0])]
    for v in x[1:]:
        expected.append(exact_add(expected[-1], float(v), fmt))
    np.testing.assert_array_equal(cumulative(x, fmt), expected)


@formats
@pytest.mark.parametrize("name", ["pairwise", "blocked", "split", "shuffled"])
def test_every_scan_is_right_where_nothing_rounds(fmt: Format, name: str) -> None:
    x = np.random.default_rng(1).integers(-1, 2, (4, 3))
    np.testing.assert_array_equal(cumulative(x.astype(np.float64), fmt, Order(name, 2)), np.cumsum(x, axis=-1))


@pytest.mark.parametrize(("name", "depth"), [("pairwise", 7), ("blocked", 15 + 6), ("split", 6 + 15)])
def test_a_scan_is_no_deeper_than_its_order(name: str, depth: int) -> None:
    """A large term, then terms that vanish beside it: a chain loses all of them, a tree no more than its depth."""
    fmt = FORMATS["bf16"]
    x = np.full(100, fmt.u)
    x[0] = 1.0
    chain_error = np.abs(cumulative(x, fmt) - np.cumsum(x))[-1]
    tree_error = np.abs(cumulative(x, fmt, Order(name, 16)) - np.cumsum(x))[-1]
    assert chain_error == pytest.approx(99 * fmt.u)
    assert 0 <= tree_error <= depth * fmt.u * 1.5 < chain_error


# ------------------------------------------------------------------------------------------------------- over ranks


@formats
@pytest.mark.parametrize("n", [1, 2, 3, 4, 5, 8])
def test_a_ring_starts_each_chunk_at_another_rank(n: int, fmt: Format) -> None:
    x = round_to(np.random.default_rng(n).standard_normal((11, n)), fmt)
    got = sum_terms(x, fmt, Order("ring"))
    for c, places in enumerate(np.array_split(np.arange(11), n)):
        for i in places:
            around = [(c + 1 + k) % n for k in range(n)]
            assert got[i] == in_tree(x[i], chain(list(around)), fmt)


@formats
@pytest.mark.parametrize(
    ("n", "tree"),
    [
        (1, 0),
        (2, (0, 1)),
        (3, ((0, 2), 1)),
        (4, ((0, 2), (1, 3))),
        (6, (((0, 4), 2), ((1, 5), 3))),
        (8, (((0, 4), (2, 6)), ((1, 5), (3, 7)))),
    ],
)
def test_halving_adds_the_partner_half_the_way_off(n: int, tree: Tree, fmt: Format) -> None:
    x = round_to(np.random.default_rng(n).standard_normal((5, n)), fmt)
    got = sum_terms(x, fmt, Order("halving"))
    assert [in_tree(row, tree, fmt) for row in x] == list(got)


def test_ranks_draw_every_order_of_theirs() -> None:
    rng = np.random.default_rng(0)
    assert {draw_rank_order(rng).name for _ in range(100)} == set(RANK_ORDERS)

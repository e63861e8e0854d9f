"""The order in which a kernel adds, read off its answers: the tree of its additions, for any n, without its source.

Method of FPRev (USENIX ATC 2025). Among units, one +M and one -M that swallow every unit: the units under the lowest
common ancestor of the two are lost, all others are counted, so n minus the answer is the number of leaves under that
ancestor. Numbers of leaves for enough pairs determine the tree, nodes of more than two terms included.

Requirement: a tree is given only when the counts agree with one; `execute` then computes the same sum again, so that
random data confirm or refute it bit for bit.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from kernel_contracts.errors import ArithmeticScopeError
from kernel_contracts.formats import Format
from kernel_contracts.numerics.bounded import Array
from kernel_contracts.numerics.rounding import round_sum, round_to

_GUARD = 3
"""Bits that a sum of several numbers keeps below the last one of its largest addend."""

Sum = Callable[[Array], float]
"""Adds n numbers in the order that is to be found."""


@dataclass(frozen=True, slots=True)
class Tree:
    """Additions in the order of their dependence: number n + k is the sum of the numbers in `steps[k]`; 0..n-1 are
    the terms. The last step gives the result."""

    n: int
    steps: tuple[tuple[int, ...], ...]

    @property
    def depth(self) -> int:
        """Additions that the most burdened term goes through."""
        return self.depths()[-1] if self.steps else 0

    def depths(self) -> list[int]:
        """For each term and each step, the longest chain of additions below it."""
        out = [0] * self.n
        for children in self.steps:
            out.append(1 + max(out[c] for c in children))
        return out

    def leaves(self) -> list[list[int]]:
        """For each term and each step, the terms below it in ascending order."""
        out: list[list[int]] = [[i] for i in range(self.n)]
        for children in self.steps:
            out.append(sorted(i for c in children for i in out[c]))
        return out

    @property
    def fused(self) -> int:
        """The most numbers that one step adds at once; 2 where every addition is an ordinary one."""
        return max((len(s) for s in self.steps), default=0)


@dataclass(frozen=True, slots=True)
class Mask:
    """Numbers that reveal an order: `big` swallows `units` of `unit`, and every count of them is exact."""

    big: float
    unit: float


class NoTreeError(ArithmeticScopeError):
    """The answers fit no tree of additions."""


def mask(n: int, held: Format, accumulator: Format, output: Format) -> Mask:
    """Numbers for sums of n terms. Raises ArithmeticScopeError where a format is too narrow to count to n."""
    big = 2.0 ** min(math.frexp(f.max_finite)[1] - 1 for f in (held, accumulator, output))
    unit = 1.0
    if big < 4.0 * n * 2.0**accumulator.precision:
        unit = max(held.least_subnormal, output.least_subnormal, accumulator.least_subnormal)
    if big < 4.0 * n * unit * 2.0**accumulator.precision:
        raise ArithmeticScopeError(
            f"{held.name} has no two numbers so far apart that {accumulator.name} loses {n} of one beside the other; "
            "reveal the order in fp32"
        )
    limit = 2 ** min(f.precision for f in (accumulator, output))
    if n > limit:
        raise ArithmeticScopeError(f"{output.name} counts to {limit} and not to {n}; ask for fewer terms or fp32")
    return Mask(big, unit)


class _Counter:
    """Leaves under the lowest common ancestor of two terms, by one call of the sum."""

    def __init__(self, add: Sum, n: int, how: Mask) -> None:
        self.add, self.n, self.how = add, n, how
        self.calls = 0

    def check(self) -> None:
        total = self.add(np.full(self.n, self.how.unit)) / self.how.unit
        if total != self.n:
            raise NoTreeError(f"{self.n} units add up to {total:g}: this is no sum of all its terms")

    def __call__(self, i: int, j: int) -> int:
        terms = np.full(self.n, self.how.unit)
        terms[i], terms[j] = self.how.big, -self.how.big
        kept = self.add(terms) / self.how.unit
        self.calls += 1
        if not (0 <= kept <= self.n - 2 and kept == math.floor(kept)):  # the range first: infinity has no floor
            raise NoTreeError(
                f"with {self.how.big:g} at {i} and {-self.how.big:g} at {j} the kernel counts {kept:g} of "
                f"{self.n - 2} units: its sum is not made of additions that round to nearest"
            )
        return self.n - int(kept)


def reveal(add: Sum, n: int, how: Mask, seed: int = 0) -> Tree:
    """The tree of additions of `add` over n terms. Raises NoTreeError where the answers contradict every tree."""
    if n < 1:
        raise ArithmeticScopeError("a sum of no terms has no order; ask for at least one term")
    count = _Counter(add, n, how)
    count.check()
    steps: list[tuple[int, ...]] = []
    _grow(count, list(range(n)), n + 1, steps, np.random.default_rng(seed))
    return _ordered(n, steps)


def _grow(
    count: _Counter, terms: list[int], top: int, steps: list[tuple[int, ...]], rng: np.random.Generator
) -> list[int]:
    """Subtrees that hold `terms`, all children of one node with `top` leaves."""
    roots: list[int] = []
    while terms:
        pivot = terms[int(rng.integers(len(terms)))]
        groups: dict[int, list[int]] = {}
        for j in terms:
            if j != pivot:
                groups.setdefault(count(pivot, j), []).append(j)
        terms = groups.pop(top, [])
        root, size = pivot, 1
        for leaves, others in sorted(groups.items()):
            if size + len(others) != leaves:
                raise NoTreeError(
                    f"beside term {pivot}, {size + len(others)} terms should be {leaves}: no tree of additions fits; "
                    "the sum is compensated, wider than assumed, or changes its order from call to call"
                )
            children = [root, *_grow(count, others, leaves, steps, rng)]
            steps.append(tuple(children))
            root, size = count.n + len(steps) - 1, leaves
        roots.append(root)
    return roots


def _ordered(n: int, steps: Sequence[tuple[int, ...]]) -> Tree:
    """The same tree with the children of each step in the order of their first terms."""
    first = list(range(n))
    out: list[tuple[int, ...]] = []
    for children in steps:
        out.append(tuple(sorted(children, key=lambda c: first[c])))
        first.append(min(first[c] for c in children))
    return Tree(n, tuple(out))


def execute(tree: Tree, terms: Array, fmt: Format, *, fused: bool = False) -> Array:
    """Sums the last axis along the tree, every step rounded once to `fmt`.

    `fused` takes terms as exact products that a multiply-add rounds only with their sum; the first one of a chain is
    rounded alone.
    """
    values: list[Array] = [np.asarray(terms[..., i], dtype=np.float64) for i in range(tree.n)]
    with np.errstate(over="ignore", invalid="ignore"):
        for children in tree.steps:
            parts = [values[c] for c in children]
            whole = all(c < tree.n for c in children)
            if fused and whole:
                parts[0] = round_to(parts[0], fmt)
            if not fused:
                parts = [round_to(p, fmt) if c < tree.n else p for p, c in zip(parts, children, strict=True)]
            values.append(_once(parts, fmt))
        return values[-1] if tree.steps else round_to(values[0], fmt)


def _once(parts: list[Array], fmt: Format) -> Array:
    """The exact sum of two parts, rounded once; of more, what a matrix unit does.

    It aligns all addends with the largest, drops what does not fit beside it, and adds what is left exactly.
    """
    if len(parts) == 2:
        a, b = parts
        high = a + b
        back = high - a
        return round_sum(high, (a - (high - back)) + (b - back), fmt)
    flat = np.stack(np.broadcast_arrays(*parts), axis=-1)
    with np.errstate(divide="ignore", invalid="ignore"):
        top = np.frexp(np.abs(flat).max(axis=-1, keepdims=True))[1]
        step = np.ldexp(1.0, np.maximum(top - fmt.precision - _GUARD, -1074).astype(np.int32))
        kept = np.trunc(flat / step)
        return round_to(kept.sum(axis=-1) * step[..., 0], fmt)


def confirm(
    tree: Tree, add: Sum, held: Format, accumulator: Format, output: Format, *, trials: int = 16, seed: int = 0
) -> int:
    """On how many of `trials` random inputs, of very different magnitudes, the tree gives the same bits."""
    rng = np.random.default_rng(seed)
    agreed = 0
    for _ in range(trials):
        terms = spread(rng, tree.n, held)
        mine = float(round_to(execute(tree, terms, accumulator), output))
        agreed += mine == add(terms)
    return agreed


def spread(rng: np.random.Generator, n: int, held: Format) -> NDArray[np.float64]:
    """Normals over a few binades: other orders of such terms give other bits."""
    return round_to(rng.standard_normal(n) * 2.0 ** rng.integers(-6, 7, n), held)

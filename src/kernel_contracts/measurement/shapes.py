"""Shape families: candidate bindings of the symbolic dims, away from the sizes that kernels are tuned on.

Every binding respects the dims' ranges and stays within a budget of work, and says which families proposed it. What
is exposed: tails of tiles, extents of 1 and 0, thin and prime extents, and, because the extents of one binding
differ wherever they can, axes that are mixed up.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from kernel_contracts.errors import UsageError

Dims = dict[str, int]
BUDGET = 2**22
"""Default bound on the product of all extents of one binding."""

ORDINARY = (16, 32, 64, 128, 256)
"""The usual benchmark sizes."""

_SMALL = (3, 5, 2, 7, 4, 6, 11, 9, 13, 8, 10, 12)
_PRIMES = (2, 3, 5, 7, 11, 13, 17, 19, 23, 29, 31, 37, 53, 61, 67, 97, 127, 131, 251, 257, 509, 521, 1021, 1031)


@dataclass(frozen=True, slots=True)
class DimRange:
    """What a contract allows for one dim: an interval, and where `choices` is given only those."""

    low: int
    high: int
    choices: tuple[int, ...] | None = None

    def __post_init__(self) -> None:
        if self.low > self.high or self.choices == () or (self.choices and not self.allowed):
            raise UsageError(f"no size lies in {self.low}..{self.high} and {self.choices}; widen the range of the dim")

    @property
    def allowed(self) -> tuple[int, ...]:
        """The choices within the interval; empty where there are none to choose from."""
        return tuple(sorted(c for c in self.choices or () if self.low <= c <= self.high))

    @property
    def least(self) -> int:
        return self.allowed[0] if self.choices else self.low

    def admits(self, n: int) -> bool:
        return self.low <= n <= self.high and (self.choices is None or n in self.choices)

    def nearest(self, n: int) -> int:
        """The admitted size closest to `n`."""
        if self.choices:
            return min(self.allowed, key=lambda c: (abs(c - n), c))
        return min(max(n, self.low), self.high)


@dataclass(frozen=True, slots=True)
class Candidate:
    """One binding and where it came from."""

    dims: Dims
    families: tuple[str, ...]

    @property
    def family(self) -> str:
        return ", ".join(self.families)


Generate = Callable[[Mapping[str, DimRange], np.random.Generator, tuple[float, ...], int], Iterable[Dims]]


@dataclass(frozen=True, slots=True)
class ShapeFamily:
    name: str
    doc: str
    make: Generate
    parameters: tuple[str, ...] = ()

    def generate(
        self, dims: Mapping[str, DimRange], rng: np.random.Generator, *arguments: float, budget: int = BUDGET
    ) -> list[Dims]:
        """Bindings without duplicates, each admitted by `dims` and within the budget where any binding is."""
        if len(arguments) > len(self.parameters):
            accepted = ", ".join(self.parameters) or "no argument"
            raise UsageError(f"shape family {self.name}: got {len(arguments)} arguments, it accepts {accepted}")
        found: dict[tuple[int, ...], Dims] = {}
        for binding in self.make(dims, rng, arguments, budget):
            if work(binding) <= budget and all(dims[d].admits(n) for d, n in binding.items()):
                found.setdefault(tuple(binding[d] for d in dims), binding)
        return list(found.values())


def work(binding: Mapping[str, int]) -> int:
    """Product of all extents, zeros counted as 1."""
    return math.prod(max(n, 1) for n in binding.values())


def candidate_shapes(
    items: Sequence[tuple[str, tuple[float, ...]]],
    dims: Mapping[str, DimRange],
    rng: np.random.Generator,
    budget: int = BUDGET,
) -> list[Candidate]:
    """The bindings of several families, each once, with the names of all families that gave it: `tails(128)`."""
    known = shape_families()
    merged: dict[tuple[int, ...], Candidate] = {}
    for name, arguments in items:
        if name not in known:
            raise UsageError(f"shape family {name}: not known; choose one of {', '.join(sorted(known))}")
        label = f"{name}({', '.join(f'{a:g}' for a in arguments)})" if arguments else name
        for binding in known[name].generate(dims, rng, *arguments, budget=budget):
            key = tuple(binding[d] for d in dims)
            before = merged[key].families if key in merged else ()
            if label not in before:
                merged[key] = Candidate(binding, (*before, label))
    return list(merged.values())


# ------------------------------------------------------------------------------------------------------ helpers


def _fill(
    dims: Mapping[str, DimRange], fixed: Mapping[str, int], budget: int, preferred: Sequence[int] = _SMALL
) -> Dims:
    """`fixed`, and for the other dims preferred extents that differ from all the rest as far as ranges allow.

    Where the whole exceeds the budget the others take their least size.
    """
    used = set(fixed.values())
    out: Dims = {}
    for name, allowed in dims.items():
        if name in fixed:
            out[name] = fixed[name]
            continue
        options = [n for n in preferred if allowed.admits(n)] or list(allowed.allowed)
        options += [max(allowed.low, 1) + i for i in range(len(dims) + 1) if allowed.admits(max(allowed.low, 1) + i)]
        out[name] = next((n for n in options if n not in used), options[0] if options else allowed.least)
        used.add(out[name])
    if work(out) > budget:
        out = {n: fixed.get(n, max(allowed.least, min(1, allowed.nearest(1)))) for n, allowed in dims.items()}
    return out


def _spread(
    dims: Mapping[str, DimRange], sizes: Sequence[int], rng: np.random.Generator, budget: int, count: int
) -> Iterable[Dims]:
    """`count` bindings of distinct sizes drawn from `sizes`; the largest extents give way until the budget holds."""
    for _ in range(count if dims else 1):
        out: Dims = {}
        for name, allowed in dims.items():
            fitting = [n for n in sizes if allowed.admits(n)] or [allowed.nearest(int(rng.choice(list(sizes))))]
            fresh = [n for n in fitting if n not in out.values()] or fitting
            out[name] = int(rng.choice(fresh))
        for name in sorted(out, key=lambda d: -out[d]) * 2:
            smaller = sorted((n for n in sizes if n < out[name] and dims[name].admits(n)), reverse=True)
            fresh = [n for n in smaller if n not in out.values()]
            while work(out) > budget and (fresh or smaller):
                out[name] = (fresh or smaller).pop(0)
        yield out


def _argument(arguments: tuple[float, ...], default: int) -> int:
    return max(1, int(arguments[0])) if arguments else default


# ----------------------------------------------------------------------------------------------------- families


def _tails(
    dims: Mapping[str, DimRange], rng: np.random.Generator, arguments: tuple[float, ...], budget: int
) -> Iterable[Dims]:
    tile = _argument(arguments, 128)
    for name in dims:
        for n in (tile - 1, tile, tile + 1, 2 * tile - 1, 2 * tile + 1):
            yield _fill(dims, {name: dims[name].nearest(n)}, budget)
    around = [tile - 1, tile + 1, tile, 2 * tile + 1, 2 * tile - 1]
    yield from _spread(dims, [n for n in around if n > 0], rng, budget, 2)


def _primes(
    dims: Mapping[str, DimRange], rng: np.random.Generator, arguments: tuple[float, ...], budget: int
) -> Iterable[Dims]:
    return _spread(dims, _PRIMES, rng, budget, 4)


def _thin(
    dims: Mapping[str, DimRange], rng: np.random.Generator, arguments: tuple[float, ...], budget: int
) -> Iterable[Dims]:
    if len(dims) == 1:
        yield from ({name: dims[name].nearest(n)} for name in dims for n in (1, 2, 3))
    for thin in dims:
        for long in dims:
            if thin != long:
                width, length = int(rng.integers(1, 4)), int(rng.integers(400, 1200))
                yield _fill(dims, {thin: dims[thin].nearest(width), long: dims[long].nearest(length)}, budget)


def _one(
    dims: Mapping[str, DimRange], rng: np.random.Generator, arguments: tuple[float, ...], budget: int
) -> Iterable[Dims]:
    yield {name: allowed.nearest(1) for name, allowed in dims.items()}
    for name in dims:
        if dims[name].admits(1):
            yield _fill(dims, {name: 1}, budget, (17, 5, 33, 7, 3, 9))


def _empty(
    dims: Mapping[str, DimRange], rng: np.random.Generator, arguments: tuple[float, ...], budget: int
) -> Iterable[Dims]:
    for name in dims:
        if dims[name].admits(0):
            yield _fill(dims, {name: 0}, budget)


def _large(
    dims: Mapping[str, DimRange], rng: np.random.Generator, arguments: tuple[float, ...], budget: int
) -> Iterable[Dims]:
    """Each dim at n in turn, then all of them as large as the budget allows."""
    n = _argument(arguments, 4096)
    for name in dims:
        yield _fill(dims, {name: dims[name].nearest(n)}, budget)
        yield _fill(dims, {name: dims[name].nearest(n - 1)}, budget)
    if dims:
        yield _even(dims, n, budget)


def _square(
    dims: Mapping[str, DimRange], rng: np.random.Generator, arguments: tuple[float, ...], budget: int
) -> Iterable[Dims]:
    yield _even(dims, _argument(arguments, 64), budget)


def _even(dims: Mapping[str, DimRange], n: int, budget: int) -> Dims:
    """All dims at n, or at the largest smaller size for which the budget holds."""
    while n > 1 and work({d: r.nearest(n) for d, r in dims.items()}) > budget:
        n -= max(1, n // 16)
    return {name: allowed.nearest(n) for name, allowed in dims.items()}


def _planes(
    dims: Mapping[str, DimRange], rng: np.random.Generator, arguments: tuple[float, ...], budget: int
) -> Iterable[Dims]:
    """Two dims near n, the others small: arrays of many elements at little work."""
    n = _argument(arguments, 512)
    for a, b in combinations(dims, 2):
        yield _fill(dims, {a: dims[a].nearest(n), b: dims[b].nearest(n - 3)}, budget)


def _ordinary(
    dims: Mapping[str, DimRange], rng: np.random.Generator, arguments: tuple[float, ...], budget: int
) -> Iterable[Dims]:
    yield _even(dims, 64, budget)
    yield from _spread(dims, ORDINARY, rng, budget, 4)


def _held_out(
    dims: Mapping[str, DimRange], rng: np.random.Generator, arguments: tuple[float, ...], budget: int
) -> Iterable[Dims]:
    """Random sizes that are no multiple of 8, so no tile size and no benchmark size divides or equals them."""
    for _ in range(_argument(arguments, 6)):
        cap = max(4.0, budget ** (1 / max(len(dims), 1)))
        out: Dims = {}
        for name, allowed in dims.items():
            top = min(allowed.high, max(int(min(cap, 300)), allowed.low + 8))
            options = [n for n in (allowed.choices or range(max(allowed.low, 1), top + 1)) if allowed.admits(n)]
            odd = [n for n in options if n % 8] or [n for n in options if n not in ORDINARY] or options
            fresh = [n for n in odd if n not in out.values()] or odd or [allowed.least]
            out[name] = int(rng.choice(fresh))
        yield out


def _powers(
    dims: Mapping[str, DimRange], rng: np.random.Generator, arguments: tuple[float, ...], budget: int
) -> Iterable[Dims]:
    return _spread(dims, tuple(2**i for i in range(10)), rng, budget, 5)


_FAMILIES = (
    ShapeFamily("tails", "one below, at and above a tile and its double, each dim in turn", _tails, ("tile",)),
    ShapeFamily("primes", "prime extents", _primes),
    ShapeFamily("thin", "one dim of 1 to 3, another long", _thin),
    ShapeFamily("one", "all dims 1, and each alone", _one),
    ShapeFamily("empty", "each dim 0 in turn, where allowed", _empty),
    ShapeFamily("large", "extents up to n", _large, ("n",)),
    ShapeFamily("square", "all extents equal", _square, ("n",)),
    ShapeFamily("planes", "two dims at n, the others small", _planes, ("n",)),
    ShapeFamily("ordinary", "the usual benchmark sizes", _ordinary),
    ShapeFamily("held_out", "random sizes that no benchmark uses", _held_out, ("count",)),
    ShapeFamily("powers", "powers of two", _powers),
)


def shape_families() -> dict[str, ShapeFamily]:
    """Every shape family by the name that the language uses."""
    return {family.name: family for family in _FAMILIES}

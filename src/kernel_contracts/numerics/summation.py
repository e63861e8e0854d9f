"""Summation orders, executed: every addition rounded, in the order that a kernel might take.

Terms come as float64 arrays that hold numbers of the accumulator's format; the last axis is summed. float32 and
float64 accumulators run in native arithmetic, any other format is rounded after each addition.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from kernel_contracts.formats import Format
from kernel_contracts.numerics.bounded import Array
from kernel_contracts.numerics.rounding import rounder

Add = Callable[[Array, Array], Array]


@dataclass(frozen=True, slots=True)
class Order:
    """One way to add n terms. `size` is b of blocked(b), k of split(k), the number of lanes, or a seed."""

    name: str = "sequential"
    size: int = 0

    def __str__(self) -> str:
        return f"{self.name}({self.size})" if self.size else self.name


RANK_ORDERS = ("sequential", "reversed", "pairwise", "shuffled", "ring", "halving")
"""How ranks add up: one after another, in a tree, around a ring that each chunk enters elsewhere, by halving."""
ORDERS = ("sequential", "reversed", "pairwise", "blocked", "split", "lanes", "shuffled", "tree")


def draw_order(rng: np.random.Generator, declared: str = "any", block: int = 1) -> Order:
    """A random order that conforms to what a tolerance declares."""
    if declared == "sequential":
        return Order("sequential")
    if declared == "pairwise":
        return Order("pairwise")
    if declared in ("blocked", "split"):
        return Order(declared, block)
    name = str(rng.choice(ORDERS))
    if name in ("blocked", "split", "lanes"):
        return Order(name, int(rng.integers(2, 65)))
    if name in ("shuffled", "tree"):
        return Order(name, int(rng.integers(1, 2**31)))
    return Order(name)


def draw_rank_order(rng: np.random.Generator) -> Order:
    """A random way in which ranks add what each of them holds."""
    name = str(rng.choice(RANK_ORDERS))
    return Order(name, int(rng.integers(1, 2**31)) if name == "shuffled" else 0)


def adder(fmt: Format) -> Add:
    """Addition in `fmt` on float64 arrays (or native float32 ones)."""
    if fmt.name in ("fp32", "fp64"):
        return np.add
    rounded = rounder(fmt)
    return lambda a, b: rounded(a + b)


def sum_terms(terms: Array, fmt: Format, order: Order) -> Array:
    """Sums the last axis in `fmt` under `order`; float64 result. No terms give 0."""
    n = terms.shape[-1]
    if n == 0:
        return np.zeros(terms.shape[:-1])
    work = terms.astype(np.float32) if fmt.name == "fp32" else terms
    with np.errstate(over="ignore", invalid="ignore"):
        return np.asarray(_in_order(work, adder(fmt), order), dtype=np.float64)


def _in_order(x: Array, add: Add, order: Order) -> Array:
    n = x.shape[-1]
    if order.name == "reversed":
        return _fold(x[..., ::-1], add)
    if order.name == "pairwise":
        return _halve(x, add)
    if order.name == "ring":
        return _around(x, add)
    if order.name == "halving":
        return _halving(x, add)
    if order.name in ("blocked", "split"):
        return _fold(_chunks(x, chunk_length(n, order), add), add)
    if order.name == "lanes":
        return _halve(_lanes(x, order.size, add), add)
    if order.name == "shuffled":
        return _fold(x[..., np.random.default_rng(order.size).permutation(n)], add)
    if order.name == "tree":
        return _random_tree(x, add, np.random.default_rng(order.size))
    return _fold(x, add)


def chunk_length(n: int, order: Order) -> int:
    """Consecutive terms that blocked(b) and split(k) add up before anything else: b, or a k-th of all."""
    size = max(order.size, 1)
    return max(size if order.name == "blocked" else -(-n // size), 1)


def _fold(x: Array, add: Add) -> Array:
    if add is np.add:  # native arithmetic: the same additions, one after another, without a loop of ours
        return np.asarray(np.add.accumulate(x, axis=-1, dtype=x.dtype)[..., -1])
    total = x[..., 0]
    for k in range(1, x.shape[-1]):
        total = add(total, x[..., k])
    return total


def _halve(x: Array, add: Add) -> Array:
    while x.shape[-1] > 1:
        n = x.shape[-1]
        pairs = add(x[..., 0 : n - n % 2 : 2], x[..., 1::2])
        x = np.concatenate([pairs, x[..., n - 1 :]], axis=-1) if n % 2 else pairs
    return x[..., 0]


def _around(x: Array, add: Add) -> Array:
    """A ring all-reduce: the c-th chunk of the elements starts at term c + 1 and goes around."""
    n = x.shape[-1]
    flat = x.reshape(-1, n)
    out = np.empty(len(flat), x.dtype)
    for c, places in enumerate(np.array_split(np.arange(len(flat)), n)):
        out[places] = _fold(np.roll(flat[places], -(c + 1), axis=-1), add)
    return out.reshape(x.shape[:-1])


def _halving(x: Array, add: Add) -> Array:
    """Recursive halving: what lies beyond a power of two joins first, then each adds its partner half the way off."""
    n = x.shape[-1]
    half = 1 << (n.bit_length() - 1)
    if half < n:
        x = np.concatenate([add(x[..., : n - half], x[..., half:]), x[..., n - half : half]], axis=-1)
    while half > 1:
        half //= 2
        x = add(x[..., :half], x[..., half:])
    return x[..., 0]


def _chunks(x: Array, size: int, add: Add) -> Array:
    """The totals of consecutive chunks; all that are whole at once."""
    n = x.shape[-1]
    whole = n - n % size
    parts = []
    if whole:
        parts.append(_fold(x[..., :whole].reshape(*x.shape[:-1], whole // size, size), add))
    if whole < n:
        parts.append(_fold(x[..., whole:], add)[..., None])
    return np.concatenate(parts, axis=-1)


def _lanes(x: Array, width: int, add: Add) -> Array:
    """The totals of every `width`-th term; all lanes at once, then those that have one term more."""
    n = x.shape[-1]
    width = min(max(width, 1), n)
    whole = n - n % width
    lanes = _fold(np.swapaxes(x[..., :whole].reshape(*x.shape[:-1], whole // width, width), -1, -2), add)
    if whole == n:
        return lanes
    longer = add(lanes[..., : n - whole], x[..., whole:])
    return np.concatenate([longer, lanes[..., n - whole :]], axis=-1)


def _random_tree(x: Array, add: Add, rng: np.random.Generator) -> Array:
    """Shuffles, then merges a random half of the neighbours until one is left: depth between log n and n."""
    x = x[..., rng.permutation(x.shape[-1])]
    while x.shape[-1] > 1:
        n = x.shape[-1]
        start = int(rng.integers(0, n - 1))
        length = int(rng.integers(1, (n - start) // 2 + 1)) * 2
        merged = add(x[..., start : start + length : 2], x[..., start + 1 : start + length : 2])
        x = np.concatenate([x[..., :start], merged, x[..., start + length :]], axis=-1)
    return x[..., 0]


def cumulative(x: Array, fmt: Format, order: Order | None = None) -> Array:
    """Running totals along the last axis, carried in `fmt`.

    In index order, except that `pairwise` doubles the reach of every total at each step and `blocked` and `split`
    total their chunks first: the depth of each prefix is then the one that such a sum declares.
    """
    order = order or Order()
    work = x.astype(np.float32) if fmt.name == "fp32" else np.asarray(x, dtype=np.float64)
    with np.errstate(over="ignore", invalid="ignore"):
        if order.name == "pairwise":
            out = _doubling(work, adder(fmt))
        elif order.name in ("blocked", "split"):
            out = _scan_chunks(work, chunk_length(x.shape[-1], order), adder(fmt))
        else:
            out = _scan(work, adder(fmt))
    return np.asarray(out, dtype=np.float64)


def _scan(x: Array, add: Add) -> Array:
    if add is np.add:
        return np.asarray(np.add.accumulate(x, axis=-1, dtype=x.dtype))
    out = np.array(x)
    for k in range(1, x.shape[-1]):
        out[..., k] = add(out[..., k - 1], x[..., k])
    return out


def _doubling(x: Array, add: Add) -> Array:
    out, reach = np.array(x), 1
    while reach < x.shape[-1]:
        out = np.concatenate([out[..., :reach], add(out[..., :-reach], out[..., reach:])], axis=-1)
        reach *= 2
    return out


def _scan_chunks(x: Array, size: int, add: Add) -> Array:
    out = np.array(x)
    for start in range(0, x.shape[-1], size):
        chunk = _scan(x[..., start : start + size], add)
        out[..., start : start + size] = add(out[..., start - 1 : start], chunk) if start else chunk
    return out

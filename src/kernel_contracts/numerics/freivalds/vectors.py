"""The secret vectors: graded signs, or signs and Gaussians in turn, on the whole width or on column blocks.

One vector of signs sees every single-element error in full, since |r_j| = 1, but two errors of the same size cancel
half of the time. Continuous weights cancel with probability zero, but Gaussian ones shrink an error by |r_j|, which is
small now and then. A single vector is therefore of *graded* signs, +-1 times a magnitude even on 0.9 to 1.1: it sees
every single error nearly in full and no two errors cancel. Of several vectors the first is of plain signs, the second
Gaussian, and so on in turn.
"""

from __future__ import annotations

import random
import secrets
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

GRADE = 0.1
"""Largest distance of a graded magnitude from 1."""


@dataclass(frozen=True, slots=True)
class Vectors:
    """Secret vectors as the columns of R (n x k), each zero outside its block of columns."""

    values: Array
    """n x passes: what the blocks of one pass hold side by side."""
    kinds: tuple[str, ...]
    """`graded`, `signs` or `gaussian`, one a pass."""
    blocks: tuple[tuple[int, int], ...]
    """Half-open ranges of columns; one range for the whole width."""
    seed: int

    @property
    def columns(self) -> int:
        """Columns of R: passes times blocks."""
        return len(self.kinds) * len(self.blocks)

    @property
    def width(self) -> int:
        """Columns of C that one column of R sees."""
        return max((stop - start for start, stop in self.blocks), default=0)

    def column_kinds(self) -> tuple[str, ...]:
        """The kind of every column of R, block after block."""
        return tuple(kind for _ in self.blocks for kind in self.kinds)


def draw(n: int, count: int = 1, *, seed: int | None = None, block: int = 0) -> Vectors:
    """`count` passes of secret vectors for n columns; blocks of `block` columns where it is not 0.

    Without a seed the system's entropy is used, which no kernel can foresee; the seed that was drawn is kept, so that a
    finding can be repeated.
    """
    if count < 1:
        raise ValueError(f"vectors={count}: one vector or more is needed")
    if block < 0:
        raise ValueError(f"block={block}: a block has one column or more; 0 means no blocks")
    seed = secrets.randbits(63) if seed is None else seed
    kinds = ("graded",) if count == 1 else tuple("signs" if k % 2 == 0 else "gaussian" for k in range(count))
    if count == 1:
        values = _graded(seed, n)[:, None]
    else:
        rng = np.random.Generator(np.random.Philox(key=seed))
        values = np.stack([_DRAWN[kind](rng, n) for kind in kinds], axis=1)
    width = block or max(n, 1)
    ranges = tuple((start, min(start + width, n)) for start in range(0, n, width))
    return Vectors(values, kinds, ranges or ((0, n),), seed)


def extended(vectors: Vectors) -> Vectors:
    """The same with a Gaussian vector beside a single one: for a second look, where cost does not matter."""
    if len(vectors.kinds) > 1 or len(vectors.blocks) > 1:
        return vectors
    more = np.random.default_rng(vectors.seed ^ 1).standard_normal((vectors.values.shape[0], 1))
    return Vectors(np.hstack([vectors.values, more]), (*vectors.kinds, "gaussian"), vectors.blocks, vectors.seed)


def signs(rng: np.random.Generator, n: int) -> Any:
    """n independent fair signs, from random bits: fast enough to be drawn anew for every product."""
    bits = np.unpackbits(np.frombuffer(rng.bytes((n + 7) // 8), np.uint8), count=n)
    return 1.0 - 2.0 * bits


def _graded(seed: int, n: int) -> Any:
    """Drawn anew for every product, by the generator of the standard library: NumPy's take several times as long."""
    bits = np.frombuffer(random.Random(seed).randbytes(4 * n), np.int32)
    x = bits * 2.0**-31  # even on -1 to 1; its sign and its size are independent
    return np.copysign(1 - GRADE + 2 * GRADE * np.abs(x), x)


def _gaussian(rng: np.random.Generator, n: int) -> Any:
    return rng.standard_normal(n)


_DRAWN: dict[str, Callable[[np.random.Generator, int], Any]] = {
    "signs": signs,
    "gaussian": _gaussian,
}

"""The secret vectors: random signs and Gaussians, mixed, on the whole width or on column blocks.

One vector of signs sees every single-element error in full, since |r_j| = 1, but two errors of the same size cancel
half of the time. Continuous weights cancel with probability zero, but shrink an error by |r_j|, which is small now and
then. So the first vector is of signs, the second Gaussian, and so on in turn.
"""

from __future__ import annotations

import secrets
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Vectors:
    """Secret vectors as the columns of R (n x k), each zero outside its block of columns."""

    values: Array
    """n x passes: what the blocks of one pass hold side by side."""
    kinds: tuple[str, ...]
    """`signs` or `gaussian`, one a pass."""
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


def draw(n: int, count: int = 2, *, seed: int | None = None, block: int = 0) -> Vectors:
    """`count` passes of secret vectors for n columns; blocks of `block` columns where it is not 0.

    Without a seed the system's entropy is used, which no kernel can foresee; the seed that was drawn is kept, so that a
    finding can be repeated.
    """
    if count < 1:
        raise ValueError(f"vectors={count}: one vector or more is needed")
    if block < 0:
        raise ValueError(f"block={block}: a block has one column or more; 0 means no blocks")
    seed = secrets.randbits(63) if seed is None else seed
    rng = np.random.default_rng(seed)
    kinds = tuple("signs" if k % 2 == 0 else "gaussian" for k in range(count))
    values = np.empty((n, count))
    for k, kind in enumerate(kinds):
        # Signs come from random bits: fast enough to be drawn anew for every product.
        values[:, k] = signs(rng, n) if kind == "signs" else rng.standard_normal(n)
    width = block or max(n, 1)
    ranges = tuple((start, min(start + width, n)) for start in range(0, n, width))
    return Vectors(values, kinds, ranges or ((0, n),), seed)


def signs(rng: np.random.Generator, n: int) -> Any:
    """n independent fair signs."""
    bits = np.unpackbits(np.frombuffer(rng.bytes((n + 7) // 8), np.uint8), count=n)
    return 1.0 - 2.0 * bits

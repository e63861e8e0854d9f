"""Which input carries a sum, which one it is multiplied with, and both laid out as rows of terms.

Probes plan a sum term by term. Here a tensor becomes a table whose last axis runs over the terms of one sum, so a
probe is written once for vectors, matrices, batches and convolution kernels.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from kernel_contracts.formats import Format
from kernel_contracts.measurement.inputs.base import Array, Request, TensorSpec


@dataclass(frozen=True, slots=True)
class Rows:
    """A tensor seen as rows: its free axes first, its summed axes flattened into the last."""

    spec: TensorSpec

    @property
    def free(self) -> tuple[int, ...]:
        return tuple(n for a, n in enumerate(self.spec.shape) if a not in self._summed)

    @property
    def _summed(self) -> tuple[int, ...]:
        return tuple(a % len(self.spec.shape) for a in self.spec.contracted)

    @property
    def terms(self) -> int:
        return self.spec.terms

    @property
    def count(self) -> int:
        return int(np.prod(self.free, dtype=np.int64))

    def zeros(self) -> Array:
        """A table of zeros: one row a sum, one column a term."""
        return np.zeros((self.count, self.terms))

    def tensor(self, table: Array) -> Array:
        """The table in the tensor's own axes."""
        extents = tuple(self.spec.shape[a] for a in self._summed)
        last = tuple(range(len(self.free), len(self.spec.shape)))
        return np.moveaxis(table.reshape(self.free + extents), last, self._summed)

    @property
    def high(self) -> int:
        """Exponent of the largest power of two that is allowed."""
        return int(np.frexp(self.spec.top)[1]) - 1

    @property
    def low(self) -> int:
        """Exponent of the least normal power of two, so that flushing subnormals plays no part."""
        return min(self.spec.format.emin, self.high)


@dataclass(frozen=True, slots=True)
class Sum:
    """One sum of the reference: `carrier` alone, or term by term with `partner`."""

    carrier: Rows
    partner: Rows | None = None

    @property
    def positive(self) -> bool:
        return self.carrier.spec.positive or (self.partner is not None and self.partner.spec.positive)


@dataclass(frozen=True, slots=True)
class Plan:
    """The sums that a probe may shape, and the tensors that it must only keep out of the way."""

    sums: tuple[Sum, ...]
    loose: tuple[TensorSpec, ...] = ()
    """Summed tensors without a partner of equal extents (a convolution's image): all ones, or signs."""
    free: tuple[TensorSpec, ...] = ()
    """Tensors that are never summed: a bias, a scale."""


def plan(request: Request, swap: bool | None = None) -> Plan:
    """How the real tensors of the request meet in sums. Which of two partners carries is drawn unless `swap` says."""
    summed = [Rows(t) for t in request.reals if t.contracted]
    free = tuple(t for t in request.reals if not t.contracted)
    if not request.products:
        return Plan(tuple(Sum(r) for r in summed), free=free)
    for i, a in enumerate(summed):
        for b in summed[i + 1 :]:
            if _extents(a) == _extents(b):
                swap = bool(request.rng.random() < 0.5) if swap is None else swap
                pair = Sum(b, a) if swap else Sum(a, b)
                loose = tuple(r.spec for r in summed if r is not a and r is not b)
                return Plan((pair,), loose, free)
    if not summed:
        return Plan((), free=free)
    carrier = max(summed, key=lambda r: r.terms)
    return Plan((Sum(carrier),), tuple(r.spec for r in summed if r is not carrier), free)


def _extents(rows: Rows) -> tuple[int, ...]:
    return tuple(rows.spec.shape[a] for a in rows.spec.contracted)


def whole(limit: Array, fmt: Format, count: int, rng: np.random.Generator) -> Array:
    """Positive integers of `fmt`, `count` rows by one column for each limit, none above its limit.

    They use all significant bits, and past 2^precision both the largest numbers and odd ones: the first make
    partial sums large, the second are what gets lost.
    """
    limit = np.maximum(np.floor(np.broadcast_to(limit, (count, np.shape(limit)[-1]))), 1.0)
    bits = np.frexp(limit)[1]
    room = np.maximum(bits - fmt.precision, 0)
    shift = np.where(rng.random(limit.shape) < 0.5, room, rng.integers(0, room + 1))
    top = np.minimum(2.0**fmt.precision - 1, np.floor(np.ldexp(limit, -shift)))
    least = np.maximum(np.floor(0.75 * top), 1.0)
    significand = least + np.floor(rng.random(limit.shape) * (top - least + 1))
    return np.asarray(np.ldexp(np.minimum(significand, top), shift.astype(np.int32)), dtype=np.float64)


def quiet(planned: Plan, value: float = 0.0) -> dict[str, Array]:
    """The tensors outside the sums: ones where they are factors of terms, `value` where they are not summed."""
    out = {t.name: np.full(t.shape, 2.0 ** min(Rows(t).high, 0)) for t in planned.loose}
    return out | {t.name: np.full(t.shape, value) for t in planned.free}

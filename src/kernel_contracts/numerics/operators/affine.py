"""A product with a bias as one more term of each of its sums: affine(x, w, b) is x w + b.

Kernels start their accumulators from the bias, or add it at the end, or carry it through every block of a large sum.
All of these are orders of one sum of K + 1 terms, so the bias may be rounded as often as any product;
`matmul(x, w) + b` says that it is added once, last, and is a narrower claim.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from kernel_contracts.errors import ArithmeticScopeError
from kernel_contracts.formats import Format
from kernel_contracts.numerics.bounded import Array, BoundContext, Bounded
from kernel_contracts.numerics.dims import equal, text
from kernel_contracts.numerics.domains import Domain
from kernel_contracts.numerics.operators.base import Attrs, EmulateContext, Operator
from kernel_contracts.numerics.operators.contraction import OPERATORS as _CONTRACTIONS
from kernel_contracts.numerics.program import Type

_MATMUL = next(o for o in _CONTRACTIONS if o.name == "matmul")


def _infer(types: list[Type], attrs: dict[str, Any], fmt: Format) -> Type:
    x, w, b = types
    product = _MATMUL.infer([x, w], attrs, fmt)
    if x.rank < 2 or w.rank != 2 or b.rank != 1 or not equal(b.shape[0], w.shape[1]):
        raise ArithmeticScopeError(
            f"affine({x}, {w}, {b}) needs x[..., M, K], w[K, N] and b[N], here N = {text(w.shape[-1])}"
        )
    return product


def _joined(x: Any, w: Any, b: Any) -> list[Any]:
    """x with a column of ones, w with b as its last row."""
    one = np.ones((*x.shape[:-1], 1), dtype=x.dtype if x.dtype != object else np.float64)
    return [np.concatenate([x, one], axis=-1), np.concatenate([w, b[None, :]], axis=0)]


def _value(domain: Domain, attrs: Attrs, fmt: Format, args: list[Any]) -> Any:
    x, w, b = (domain.real(a) for a in args)
    one = domain.real(np.ones((*x.shape[:-1], 1)))
    left = np.concatenate([x, one], axis=-1)
    return _MATMUL.value(domain, attrs, fmt, [left, np.concatenate([w, b[None, :]], axis=0)])


def _bound(context: BoundContext, attrs: Attrs, fmt: Format, args: list[Bounded]) -> Bounded:
    x, w, b = args
    left, right = _joined(*(np.asarray(a.v, dtype=np.float64) for a in args))
    spread = _joined(*(np.array(a.radius()) for a in args))
    spread[0][..., -1] = 0.0
    ones = Bounded(left, 0.0 if x.exact else spread[0], x.nonneg, _finest(x.quantum, 1.0))
    rows = Bounded(
        right, 0.0 if w.exact and b.exact else spread[1], w.nonneg and b.nonneg, _finest(w.quantum, b.quantum)
    )
    return _MATMUL.bound(context, attrs, fmt, [ones, rows])


def _finest(a: float | None, b: float | None) -> float | None:
    return None if a is None or b is None else min(a, b)


def _emulate(context: EmulateContext, attrs: Attrs, fmt: Format, args: list[Array]) -> Array:
    joined = _joined(*(np.asarray(a, dtype=np.float64) for a in args))
    return _MATMUL.run(context, attrs, fmt, joined)


OPERATORS = (Operator("affine", 3, _infer, _value, _bound, _emulate, sums=True),)

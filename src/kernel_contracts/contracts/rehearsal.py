"""Applies a tolerance clause once, to arrays of ones, before any kernel runs.

Whatever would stop it during a measurement stops it here, with its place in the contract: an unknown name or function,
a table without an entry, shapes that do not fit the output.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from kernel_contracts.contracts.model import Bound, ScalarDecl, TensorDecl
from kernel_contracts.contracts.tolerance import Environment, apply
from kernel_contracts.contracts.values import problem
from kernel_contracts.errors import ArithmeticScopeError
from kernel_contracts.language import syntax
from kernel_contracts.numerics.acceptance import Acceptance
from kernel_contracts.numerics.bounded import Array
from kernel_contracts.numerics.dims import Shape, evaluate, shape_text

#: Sizes given to the dims in turn: all different, so that shapes fit only where they must.
_PRIMES = (2, 3, 5, 7, 11, 13)


def rehearse(
    tolerance: syntax.Tolerance, bound: Bound, inputs: tuple[TensorDecl, ...], scalars: tuple[ScalarDecl, ...]
) -> None:
    """Raises Problem where the clause cannot be applied to an output."""
    if isinstance(tolerance, syntax.Derived | syntax.NoTolerance):
        return
    claims = [c for c in bound.claims if not c.exact and c.format.is_real]
    shapes = [t.shape for t in inputs] + [n.type.shape for n in bound.judged.nodes]
    whole = {s.name: int(s.default or 1) for s in scalars if s.type == "int"}
    sizes = next((s for s in _sizes(bound.judged.dims, whole) if _all_valid(shapes, s)), None)
    if sizes is None:
        return
    names: dict[str, Any] = {**sizes, **{s.name: s.default if s.default is not None else 1 for s in scalars}}
    names |= {t.name: _ones(t.shape, sizes) for t in inputs}
    reference = {
        n.removeprefix("output "): _ones(bound.judged.nodes[i].type.shape, sizes)
        for n, i in bound.judged.outputs.items()
        if n.startswith("output ")
    }
    for claim in claims:
        shape = bound.judged.nodes[claim.before].type.shape
        ones = _ones(shape, sizes)
        unknown = Acceptance(claim.format, ones, ones, ones, ones > 1, ones)
        try:
            apply(tolerance, unknown, Environment(bound.dtypes, names, reference, ones), claim.format)
        except ValueError as error:  # NumPy's word for shapes that do not fit
            raise problem(
                "T304",
                tolerance.span,
                f"the tolerance does not fit {claim.text} of shape {shape_text(shape)}: {error}",
                hint="a tolerance is one number, or an array that broadcasts to the output",
            ) from error


def _sizes(dims: tuple[str, ...], whole: Mapping[str, int]) -> Iterator[dict[str, int]]:
    """Bindings to try: a window must fit into what it slides over, whichever of the two comes first."""
    primes = [_PRIMES[k % len(_PRIMES)] for k in range(len(dims))]
    for values in (primes, primes[::-1], [4] * len(dims)):
        yield {**whole, **dict(zip(dims, values, strict=True))}


def _all_valid(shapes: list[Shape], sizes: Mapping[str, int]) -> bool:
    try:
        return all(evaluate(d, sizes) >= 0 for shape in shapes for d in shape)
    except ArithmeticScopeError:
        return False


def _ones(shape: Shape, sizes: Mapping[str, int]) -> Array:
    return np.ones(tuple(evaluate(d, sizes) for d in shape))

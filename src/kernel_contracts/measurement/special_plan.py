"""Where special values are put: every lane of a short row, tile edges and the tail of longer ones, pairs of values."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from kernel_contracts.contracts.evidence import Case, Layout
from kernel_contracts.contracts.model import Bound, Contract, TensorDecl
from kernel_contracts.contracts.precondition import holds
from kernel_contracts.measurement.injection import Injection, written
from kernel_contracts.measurement.lanes import at_length
from kernel_contracts.measurement.lanes import lane as lane_of
from kernel_contracts.numerics.dims import evaluate as size_of

#: Lanes of a vector unit, one more than a vector, and lengths just past usual tiles.
_SHORT, _LONGER = 17, (1, 16, 33, 129)
_PAIRS = (("nan", "inf"), ("inf", "nan"), ("inf", "-inf"), ("-inf", "nan"), ("nan", "nan"))
_BOTH = (("inf", "-inf"), ("0", "inf"), ("inf", "0"), ("nan", "inf"), ("-inf", "nan"))


def special_cases(
    contract: Contract, bound: Bound, *, seed: int, signed_zero: bool, fixed: Mapping[str, Any]
) -> list[Case]:
    """Every case of one contract; the same for every kernel."""
    reals = [t for t in contract.inputs if bound.inputs[t.name].is_real]
    lane = lane_of(contract, bound)
    scalars = {s.name: s.default if s.default is not None else 1 for s in contract.scalars} | dict(fixed)
    wanted: list[tuple[dict[str, int], tuple[Injection, ...], str]] = []
    for length in (_SHORT, *_LONGER):
        dims = at_length(contract, lane, length)
        if not holds(contract.pre, dict(dims), scalars) or any(dims == d for d, _, _ in wanted):
            continue
        wanted.append((dims, (), "clean"))
        wanted += [(dims, made, f"length {length}") for made in _injections(reals, dims, scalars, lane, signed_zero)]
    rng = np.random.default_rng([seed, 31])
    return [
        Case(
            k, written(made), dict(bound.dtypes), dims, scalars, Layout.CONTIGUOUS, int(rng.integers(0, 2**63 - 1)), why
        )
        for k, (dims, made, why) in enumerate(wanted)
    ]


def _injections(
    reals: list[TensorDecl], dims: Mapping[str, int], scalars: Mapping[str, Any], lane: str, signed_zero: bool
) -> Iterator[tuple[Injection, ...]]:
    sizes = {**{k: v for k, v in scalars.items() if isinstance(v, int)}, **dims}
    length = dims.get(lane, 1)
    short = length == _SHORT
    shapes = {t.name: tuple(size_of(d, sizes) for d in t.shape) for t in reals}
    for t in reals:
        shape = shapes[t.name]
        places = _places(shape, short)
        for place in places:
            yield (Injection("nan", t.name, place),)
        few = sorted({places[0], places[len(places) // 2], places[-1]}) if places else []
        for value in ("inf", "-inf", *(("-0",) if signed_zero else ())):
            for place in few:
                yield (Injection(value, t.name, place),)
        if short and len(places) > 9:
            for first, second in _PAIRS:
                yield (Injection(first, t.name, places[3]), Injection(second, t.name, places[9]))
            for value in ("nan", "-inf", "inf"):
                yield (Injection(value, t.name, None),)
    if short and len(reals) > 1:
        a, b = reals[:2]
        for at in (0, min(5, length - 1), length - 1):
            places_at = [_flat(t, shapes[t.name], {lane: at}) for t in (a, b)]
            for first, second in _BOTH:
                yield (Injection(first, a.name, places_at[0]), Injection(second, b.name, places_at[1]))


def _places(shape: tuple[int, ...], every: bool) -> list[int]:
    """Flat positions along each axis through the middle of the others: all of them, or tile edges and both ends."""
    found: dict[int, None] = {}
    for axis in sorted(range(len(shape)), key=lambda a: (-shape[a], -a)):
        length = shape[axis]
        edges = {0, length - 1} | {e for tile in (16, 32, 64, 128) for e in (tile - 1, tile) if e < length}
        for at in range(length) if every else sorted(edges):
            index = tuple(at if a == axis else n // 2 for a, n in enumerate(shape))
            if all(i < n for i, n in zip(index, shape, strict=True)):
                found[int(np.ravel_multi_index(index, shape))] = None
    return list(found) if shape else [0]


def _flat(tensor: TensorDecl, shape: tuple[int, ...], at: Mapping[str, int]) -> int:
    """The position whose coordinate along each named size is `at`, and the same small one elsewhere."""
    index = tuple(
        min(at.get(d, 1) if isinstance(d, str) else 1, n - 1) for d, n in zip(tensor.shape, shape, strict=True)
    )
    return int(np.ravel_multi_index(index, shape)) if shape else 0

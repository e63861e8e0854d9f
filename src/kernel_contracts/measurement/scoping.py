"""The contract's scope for kernels without a Python signature: names, formats, shapes, sizes and scalars of a call."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from kernel_contracts.contracts.model import Bound, Contract
from kernel_contracts.errors import ArithmeticScopeError, UsageError
from kernel_contracts.measurement.calls import ArrayIn, Scope, Tensor
from kernel_contracts.measurement.emulated import dims_of
from kernel_contracts.measurement.exchange import format_name

Announced = tuple[Contract, Bound] | None


def scope_of(
    announced: Announced,
    arrays: Sequence[ArrayIn],
    scalars: Mapping[str, Any],
    outputs: Sequence[tuple[tuple[int, ...], str]],
) -> Scope:
    """The scope of one call. Without a contract, outputs are called `out` or `out0`, `out1` and sizes have no names."""
    inputs = tuple(Tensor(a.name, format_name(a.array.dtype), a.array.shape) for a in arrays)
    if announced is None:
        names = ["out"] if len(outputs) == 1 else [f"out{k}" for k in range(len(outputs))]
        kinds = tuple((name, _kind(value)) for name, value in scalars.items())
        return Scope(inputs, _named(names, outputs), kinds)
    contract, _ = announced
    types = {s.name: s.type for s in contract.scalars}
    ordered = [n for n in types if n in scalars] + [n for n in scalars if n not in types]
    kinds = tuple((n, types.get(n) or _kind(scalars[n])) for n in ordered)
    try:
        sizes = dims_of(contract, {t.name: t.shape for t in inputs})
    except (ArithmeticScopeError, KeyError):  # a call beside the scope: one index more, one array fewer
        sizes = {}
    dims = tuple((d, sizes[d]) for d in contract.dims if d in sizes)
    return Scope(inputs, _named([t.name for t in contract.outputs], outputs), kinds, dims)


def _named(names: Sequence[str], outputs: Sequence[tuple[tuple[int, ...], str]]) -> tuple[Tensor, ...]:
    return tuple(Tensor(n, fmt, tuple(shape)) for n, (shape, fmt) in zip(names, outputs, strict=False))


def _kind(value: Any) -> str:
    return "bool" if isinstance(value, bool) else "int" if isinstance(value, int) else "real"


def plain(name: str, value: Any) -> Any:
    """A scalar as JSON can carry it."""
    if isinstance(value, np.generic):
        value = value.item()
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    if isinstance(value, (list, tuple)):
        return [plain(name, item) for item in value]
    raise UsageError(f"scalar {name}={value!r}: pass a number, a bool, a text or a list of these")

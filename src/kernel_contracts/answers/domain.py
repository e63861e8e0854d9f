"""The precondition of a contract, checked on the very arrays of a call.

Requirement: outside its domain a contract says nothing, so nothing there may pass or fail: it is a UsageError that
names the input, the index and the condition.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from kernel_contracts.contracts.model import Contract, Facts
from kernel_contracts.contracts.precondition import holds
from kernel_contracts.errors import UsageError
from kernel_contracts.numerics.bounded import Array
from kernel_contracts.numerics.dims import evaluate as size_of


def check_domain(
    contract: Contract, dims: Mapping[str, int], scalars: Mapping[str, Any], inputs: Mapping[str, Array]
) -> None:
    """Raises UsageError where sizes, parameters or elements lie outside the contract's precondition."""
    outside = {**contract.pre.ranges, **contract.pre.scalars}
    for name, value in {**scalars, **dims}.items():
        if name in outside and not outside[name].holds(value):
            r = outside[name]
            allowed = f"{{{', '.join(f'{c:g}' for c in r.choices)}}}" if r.choices else f"{r.low:g}..{r.high:g}"
            raise UsageError(f"the precondition of {contract.name} is not met: {name} = {value} is not in {allowed}")
    if not holds(contract.pre, dict(dims), dict(scalars)):
        shown = ", ".join(f"{k} = {v}" for k, v in {**dims, **scalars}.items())
        raise UsageError(f"the precondition of {contract.name} is not met by {shown}; see kc explain {contract.name}")
    sizes = {**{k: v for k, v in scalars.items() if isinstance(v, int)}, **dims}
    for name, x in inputs.items():
        if name in contract.pre.facts:
            _check_facts(contract, name, x, contract.pre.facts[name], sizes)


def _check_facts(contract: Contract, name: str, x: Array, facts: Facts, sizes: Mapping[str, int]) -> None:
    if facts.finite:
        _each(contract, name, x, np.isfinite(x), f"finite({name})")
    if facts.positive and facts.low is None:
        _each(contract, name, x, x > 0, f"{name} > 0")
    if facts.limit is not None:
        _each(contract, name, x, np.abs(x) <= facts.limit, f"abs({name}) <= {facts.limit:g}")
    if facts.low is not None:
        low = size_of(facts.low, sizes)
        _each(contract, name, x, x >= low, f"{name} >= {low}")
    if facts.high is not None:
        high = size_of(facts.high, sizes)
        _each(contract, name, x, x <= high, f"{name} <= {high}")


def _each(contract: Contract, name: str, x: Array, met: Array, condition: str) -> None:
    if met.all():
        return
    index = tuple(int(i) for i in np.argwhere(~np.asarray(met))[0])
    place = f" at index {list(index)}" if index else ""
    raise UsageError(
        f"the precondition {condition} of {contract.name} is not met by input {name}{place}: it is {x[index]:g} there; "
        "no answer is right or wrong outside the contract's domain"
    )
